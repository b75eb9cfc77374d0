package pgxstore

// queue holds the jobs that wait: first come, first served within a turn (a coupon, say), and
// one job of each turn after the other. So a hot coupon does not hold the others up. The zero
// value is empty.
type queueOf[Q, A any] struct {
	turns  map[string][]*job[Q, A]
	ring   []string // the turns that have jobs, the next first
	length int
}

func (q *queueOf[Q, A]) push(j *job[Q, A]) {
	if q.turns == nil {
		q.turns = map[string][]*job[Q, A]{}
	}
	if len(q.turns[j.turn]) == 0 {
		q.ring = append(q.ring, j.turn)
	}
	q.turns[j.turn] = append(q.turns[j.turn], j)
	q.length++
}

// maxWeight is about how many bytes the documents of a batch have at most, unless one request
// alone has more. PostgreSQL takes no message of a gibibyte.
const maxWeight = 16 << 20

// take removes the next batch of at most size jobs, none of which is of the turns to avoid.
// Jobs whose callers have left are dropped; their number is returned.
func (q *queueOf[Q, A]) take(size int, avoid map[string]bool) (batch []*job[Q, A], dropped int) {
	var kept []string
	weight := 0
	for len(q.ring) > 0 && len(batch) < size && weight < maxWeight {
		turn := q.ring[0]
		q.ring = q.ring[1:]
		if avoid[turn] {
			kept = append(kept, turn)
			continue
		}
		jobs := q.turns[turn]
		j := jobs[0]
		jobs[0] = nil
		if jobs = jobs[1:]; len(jobs) > 0 {
			q.turns[turn] = jobs
			q.ring = append(q.ring, turn)
		} else {
			delete(q.turns, turn)
		}
		if j.left {
			dropped++
			continue
		}
		j.taken = true
		weight += j.weight
		batch = append(batch, j)
	}
	q.ring = append(kept, q.ring...)
	q.length -= len(batch) + dropped
	return batch, dropped
}
