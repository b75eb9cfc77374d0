package next_test

const workVariable = "COUPONKIT_SQLDB_NEXT_WORK"

func runWorker(string) error { return nil }
