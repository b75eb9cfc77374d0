-- The search minds no letter case in any script. Until now search texts were in lower
-- case, which keeps letters apart that have one upper case, such as the two small sigmas
-- of Greek. Where there is one of these, a text is written anew as store.FoldCase does.
-- A process that was built before still writes lower case, until the coupon is updated.
UPDATE {coupons} c SET search_text = folded.search_text
FROM (
    SELECT id, translate(
        search_text,
        U&'\00B5\0131\017F\0345\03C2\03D0\03D1\03D5\03D6\03F0\03F1\03F5\1C80\1C81\1C82\1C83\1C84\1C85\1C86\1C87\1C88\1E9B\1FBE',
        U&'\03BC\0069\0073\03B9\03C3\03B2\03B8\03C6\03C0\03BA\03C1\03B5\0432\0434\043E\0441\0442\0442\044A\0463\A64B\1E61\03B9'
    ) AS search_text
    FROM {coupons}
) folded
WHERE folded.id = c.id AND folded.search_text <> c.search_text;
