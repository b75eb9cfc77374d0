package pgxstore

// queueOf holds the waiting jobs. Each turn, such as a coupon, has its own list, first come, first
// served. Jobs are taken from the turns in rotation, so that a busy coupon does not delay the others.
// The zero value is empty.
type queueOf[Q, A any] struct {
	turns  map[string][]*job[Q, A]
	ring   []string // turns with jobs, the next turn first
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

// maxWeight is the approximate maximum size of the documents in a batch, in bytes. A single larger
// request is a batch of its own. PostgreSQL accepts no message of a gibibyte.
const maxWeight = 16 << 20

// take removes the next batch of at most size jobs. It skips the turns in avoid. It drops jobs whose
// callers have left, and returns their number.
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
