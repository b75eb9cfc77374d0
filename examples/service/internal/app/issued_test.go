package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
)

// TestCodesOfACoupon: administrators read the codes of a coupon, narrowed and by pages.
func TestCodesOfACoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	id := admin.creates(object{"code": "PLAIN"}).text("id")
	_, err := w.Service.AddCodes(t.Context(), id, coupon.Batch{ID: "spring"}, []coupon.CodeDraft{
		{Code: "ONE", Owner: coupon.OwnerEmail("ann@example.org"), MaxUses: coupon.Set(1)}, {Code: "TWO"},
	})
	require.NoError(t, err)
	_, err = w.Service.UpdateCode(t.Context(), "two", coupon.CodePatch{Active: coupon.Set(false)})
	require.NoError(t, err)
	path := "/admin/coupon/" + id + "/codes"
	keys := func(query string) (keys []string) {
		for _, item := range admin.get(path + query).is(http.StatusOK).list("items") {
			keys = append(keys, item.(map[string]any)["code"].(string))
		}
		return keys
	}
	require.Equal(t, []string{"ONE", "PLAIN", "TWO"}, keys(""))
	require.Equal(t, []string{"ONE", "TWO"}, keys("?batch=spring&unused=true"))
	require.Equal(t, []string{"ONE"}, keys("?owner=email:ann@example.org"))
	require.Equal(t, []string{"TWO"}, keys("?state=inactive"))
	first := admin.get(path + "?pageSize=1").is(http.StatusOK)
	require.Equal(t, "ONE", first.text("next"))
	require.Equal(t, "email:ann@example.org", first.text("items.0.owner"))
	require.Equal(t, []string{"PLAIN", "TWO"}, keys("?after=ONE"))
	admin.get("/admin/coupon/cpn_none/codes").refused(http.StatusNotFound, "coupon_not_found")
	admin.get(path + "?state=pending").is(http.StatusUnprocessableEntity)
	admin.get(path + "?unused=perhaps").is(http.StatusUnprocessableEntity)
	w.as(t, "ann").get(path).is(http.StatusForbidden)
	require.Equal(t, "code_changed", admin.get("/admin/coupon/"+id+"/history").is(http.StatusOK).text("items.0.kind"))
}

// TestAddingCodes: a batch is added whole or not, once, with generated codes in its shape. Every fault is
// named by its path.
func TestAddingCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	id := admin.creates(object{"code": "PLAIN"}).text("id")
	path := "/admin/coupon/" + id + "/codes"
	body := object{"batch": object{"id": "spring", "shape": object{"prefix": "spring", "symbols": 8}}, "codes": []object{
		{"code": "one", "owner": "email:ann@example.org", "maxUses": 1, "expiresAt": "2099-03-31"}, {}, {"code": nil, "maxUses": nil},
	}}
	added := admin.post(path, body).is(http.StatusCreated)
	require.Equal(t, []string{"ONE", "email:ann@example.org", "2099-04-01T00:00:00Z", "spring"}, []string{
		added.text("items.0.code"), added.text("items.0.owner"), added.text("items.0.expiresAt"), added.text("items.0.batch"),
	})
	require.Regexp(t, "^SPRING-[0-9A-Z]{9}$", added.text("items.1.code"))
	require.Equal(t, string(added.body), string(admin.post(path, body).is(http.StatusCreated).body))
	cart := object{"lines": []object{line("plan", "basic", 1)}, "couponCode": added.text("items.2.code")}
	require.Equal(t, id, ann.post("/payment/quote", cart).is(http.StatusOK).text("coupon.id"))

	other := with(body, object{"batch": object{"id": "spring"}})
	a := admin.post(path, other).refused(http.StatusUnprocessableEntity, "idempotency_key_reused")
	require.Equal(t, map[string]string{"batch.id": "taken"}, a.fields())
	a = admin.post(path, object{"batch": object{"id": "more"}, "codes": []object{{"code": "new"}, {"code": "one"}, {"code": "PLAIN"}}}).refused(http.StatusConflict, "code_taken")
	require.Equal(t, map[string]string{"codes[1].code": "taken", "codes[2].code": "taken"}, a.fields())
	admin.get(path+"/new").refused(http.StatusNotFound, "coupon_not_found")
	a = admin.post(path, object{"batch": object{"id": "more"}, "codes": []object{{"code": "plain"}}}).refused(http.StatusConflict, "code_taken")
	require.Equal(t, id, a.text("couponId"))
	admin.post("/admin/coupon/cpn_none/codes", body).refused(http.StatusNotFound, "coupon_not_found")

	many := make([]object, coupon.MaxCodes+1)
	for i := range many {
		many[i] = object{}
	}
	batch := object{"id": "b"}
	for name, test := range map[string]struct {
		body object
		want map[string]string
	}{
		"nothing":       {object{}, map[string]string{"batch.id": "required", "codes": "required"}},
		"no batch":      {object{"batch": "b", "codes": []object{{}}}, map[string]string{"batch": "malformed"}},
		"a wrong shape": {object{"batch": object{"id": "b", "shape": object{"prefix": "A B", "symbols": 7}}, "codes": []object{{}}}, map[string]string{"batch.shape.prefix": "malformed", "batch.shape.symbols": "malformed"}},
		"too many":      {object{"batch": batch, "codes": many}, map[string]string{"codes": "too_long"}},
		"every field": {object{"batch": batch, "more": 1, "codes": []object{
			{"code": "A B", "owner": "ann", "maxUses": 0, "expiresAt": "soon"}, {"code": "two", "codee": "x"}, {"code": "TWO"}, {"maxUses": "many", "expiresAt": "1999-01-01"},
		}}, map[string]string{
			"more": "unknown", "codes[0].code": "malformed", "codes[0].owner": "malformed", "codes[0].maxUses": "too_small", "codes[0].expiresAt": "malformed",
			"codes[1].codee": "unknown", "codes[2].code": "mismatch", "codes[3].maxUses": "malformed", "codes[3].expiresAt": "too_small",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := admin.post(path, test.body).refused(http.StatusUnprocessableEntity, "invalid_input")
			require.Equal(t, test.want, a.fields())
		})
	}
	admin.post(path, "[]").refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Len(t, admin.get(path).is(http.StatusOK).list("items"), 4)
}

// TestChangingACode: administrators read and change one code of a coupon, by the code. The plain code
// is changed with its coupon.
func TestChangingACode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	id := admin.creates(object{"code": "PLAIN"}).text("id")
	other := admin.creates(object{"code": "OTHER"}).text("id")
	path := "/admin/coupon/" + id + "/codes"
	admin.post(path, object{"batch": object{"id": "spring"}, "codes": []object{{"code": "ONE/2", "maxUses": 3}}}).is(http.StatusCreated)
	at := path + "/one%2F2"
	found := admin.get(at).is(http.StatusOK)
	require.Equal(t, []any{"ONE/2", id, true}, []any{found.text("code"), found.text("couponId"), found.value("active")})
	admin.get("/admin/coupon/"+other+"/codes/one%2F2").refused(http.StatusNotFound, "coupon_not_found")
	admin.get(path+"/none").refused(http.StatusNotFound, "coupon_not_found")
	admin.patch("/admin/coupon/"+other+"/codes/one%2F2", object{"active": false}).refused(http.StatusNotFound, "coupon_not_found")

	changed := admin.patch(at, object{"active": false, "maxUses": nil, "owner": "id:ann", "expiresAt": "2099-01-31", "revision": 1}).is(http.StatusOK)
	require.Equal(t, []any{false, nil, "id:ann", "2099-02-01T00:00:00Z"}, []any{changed.value("active"), changed.value("maxUses"), changed.text("owner"), changed.text("expiresAt")})
	admin.patch(at, object{"active": true, "revision": 1}).refused(http.StatusConflict, "stale_revision")
	cleared := admin.patch(at, object{"owner": nil, "expiresAt": nil}).is(http.StatusOK)
	require.Equal(t, []any{nil, nil, false}, []any{cleared.value("owner"), cleared.value("expiresAt"), cleared.value("active")})
	require.Equal(t, "code_changed", admin.get("/admin/coupon/"+id+"/history").is(http.StatusOK).text("items.0.kind"))

	a := admin.patch(at, object{"active": nil, "maxUses": 0, "owner": "ann", "expiresAt": "soon", "code": "NEW"}).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"active": "required", "maxUses": "too_small", "owner": "malformed", "expiresAt": "malformed", "code": "unknown"}, a.fields())
	a = admin.patch(path+"/PLAIN", object{"active": false}).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"active": "immutable"}, a.fields())
	admin.get(path + "/PLAIN").is(http.StatusOK)
}

// TestACouponWithoutACode: a request that leaves the code out is refused, unless it says that the coupon
// has none. Customers come by the codes of batches alone.
func TestACouponWithoutACode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	draft := object{"name": "For members", "discountType": "PERCENTAGE", "discountValue": "10"}
	for _, forgotten := range []object{draft, with(draft, object{"code": ""}), with(draft, object{"code": nil}), with(draft, object{"withoutCode": false})} {
		a := admin.post("/admin/coupon", forgotten).refused(http.StatusUnprocessableEntity, "invalid_input")
		require.Equal(t, map[string]string{"code": "required"}, a.fields())
	}
	a := admin.post("/admin/coupon", with(draft, object{"code": "TEN", "withoutCode": true})).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"withoutCode": "not_allowed"}, a.fields())
	admin.post("/admin/coupon/preview", draft).is(http.StatusOK)
	admin.post("/admin/coupon/preview", with(draft, object{"withoutCode": true})).is(http.StatusOK)

	made := admin.post("/admin/coupon", with(draft, object{"withoutCode": true})).is(http.StatusCreated)
	id := made.text("id")
	require.NotContains(t, string(made.body), `"code"`)
	listed := admin.get("/admin/coupon/all?search=members").is(http.StatusOK)
	require.Equal(t, id, listed.text("items.0.id"))
	require.Equal(t, id, admin.get("/admin/coupon/"+id).is(http.StatusOK).text("id"))
	admin.patch("/admin/coupon/"+id, object{"name": "For friends"}).is(http.StatusOK)
	require.Empty(t, admin.get("/admin/coupon/"+id+"/codes").is(http.StatusOK).list("items"))
	_, err := w.Service.AddCodes(t.Context(), id, coupon.Batch{ID: "spring"}, []coupon.CodeDraft{{Code: "MINE"}})
	require.NoError(t, err)
	cart := object{"lines": []object{line("plan", "basic", 1)}}
	require.Equal(t, "MINE", ann.post("/payment/quote", with(cart, object{"couponCode": "mine"})).is(http.StatusOK).text("coupon.code"))
	ann.checkout(with(cart, object{"couponCode": id})).refused(http.StatusNotFound, "coupon_not_found")
	ann.checkout(with(cart, object{"couponCode": "mine"})).is(http.StatusCreated)
}
