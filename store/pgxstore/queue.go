package pgxstore

// queue holds the jobs of a lane: first come, first served within a turn (what the calls are
// about: a coupon, a session, a redemption or an order), and one job of each turn after the
// other, so that a hot coupon does not keep the others waiting. The zero value is empty.
type queue[Q, A any] struct {
	turns map[string][]*job[Q, A]
	ring  []string // the turns that have jobs, the next first

	length int // jobs of all turns
}

func (q *queue[Q, A]) empty() bool { return len(q.ring) == 0 }

func (q *queue[Q, A]) push(j *job[Q, A]) {
	if q.turns == nil {
		q.turns = make(map[string][]*job[Q, A])
	}
	if len(q.turns[j.turn]) == 0 {
		q.ring = append(q.ring, j.turn)
	}
	q.turns[j.turn] = append(q.turns[j.turn], j)
	q.length++
}

// maxWeight is how many bytes the requests of a batch send, at most, unless one alone sends
// more. Orders with thousands of lines have megabytes each: many of them in one batch take
// longer than it may, and PostgreSQL takes no message of a gibibyte, so that the small calls
// beside them would fail too.
const maxWeight = 16 << 20

// take removes the next batch of at most size jobs and maxWeight, in which no two clash, and
// marks them as taken. None is of the given turns or clashes, which are run. It also removes
// jobs whose caller has left, and returns how many.
func (q *queue[Q, A]) take(size int, turns, clashes map[string]bool) (batch []*job[Q, A], left int) {
	met := make(map[string]bool)
	postponed := make(map[string][]*job[Q, A])
	weight := 0
	for len(batch) < size && len(q.ring) > 0 {
		turn := q.ring[0]
		if !turns[turn] && len(batch) > 0 && weight+q.turns[turn][0].weight > maxWeight {
			break
		}
		q.ring = q.ring[1:]
		jobs := q.turns[turn]
		if turns[turn] {
			postponed[turn] = jobs
			delete(q.turns, turn)
			continue
		}
		j := jobs[0]
		jobs[0] = nil
		jobs = jobs[1:]
		switch {
		case j.gone:
			left++
		case j.clash != "" && (met[j.clash] || clashes[j.clash]):
			postponed[turn] = append(postponed[turn], j)
		default:
			j.taken = true
			met[j.clash] = true
			weight += j.weight
			batch = append(batch, j)
		}
		if len(jobs) > 0 {
			q.turns[turn] = jobs
			q.ring = append(q.ring, turn)
		} else {
			delete(q.turns, turn)
		}
	}
	for turn, jobs := range postponed {
		if len(q.turns[turn]) == 0 {
			q.ring = append(q.ring, turn)
		}
		q.turns[turn] = append(jobs, q.turns[turn]...)
	}
	q.length -= len(batch) + left
	return batch, left
}
