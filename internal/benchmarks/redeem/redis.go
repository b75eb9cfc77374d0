package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is a throwaway server that acknowledges what is on the disk.
type redisServer struct {
	command *exec.Cmd
	ended   chan struct{} // closed when it has
	dir     string
	address string
}

// startRedis returns a running server and its version, or nil if none is installed.
func startRedis(ctx context.Context) (_ *redisServer, version string, err error) {
	path, err := exec.LookPath("redis-server")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, "not installed", nil
	}
	if err != nil {
		return nil, "", err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	s := &redisServer{address: listener.Addr().String()}
	if err := listener.Close(); err != nil {
		return nil, "", err
	}
	if s.dir, err = os.MkdirTemp("", "couponkit-redis-"); err != nil {
		return nil, "", err
	}
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return nil, "", err
	}
	s.command = exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", //nolint:noctx // stopped by stop
		"--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
	s.command.SysProcAttr = new(syscall.SysProcAttr)
	dieWithParent(s.command.SysProcAttr)
	if err := s.start(); err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(s.dir))
	}
	version, err = s.await(ctx)
	if err != nil {
		return nil, "", errors.Join(err, s.stop())
	}
	return s, version, nil
}

// start starts the server from a thread that lives as long as it: where the system
// can, the death of that thread ends the server, so that a program which is killed
// leaves none behind.
func (s *redisServer) start() error {
	started := make(chan error)
	s.ended = make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.ended)
		err := s.command.Start()
		started <- err
		if err == nil {
			_ = s.command.Wait() // it is killed
		}
	}()
	return <-started
}

// await waits until the server answers, and asks for its version.
func (s *redisServer) await(ctx context.Context) (string, error) {
	client := redis.NewClient(&redis.Options{Addr: s.address})
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		info, err := client.Info(ctx, "server").Result()
		if err == nil {
			_, after, _ := strings.Cut(info, "redis_version:")
			version, _, _ := strings.Cut(after, "\r")
			return version, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("redis-server does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *redisServer) stop() error {
	err := s.command.Process.Kill()
	<-s.ended
	return errors.Join(err, os.RemoveAll(s.dir))
}

// redeemScript keeps both limits and is idempotent by key, as the ways on
// PostgreSQL; it stores the same record.
var redeemScript = redis.NewScript(`
local coupon, customer = ARGV[1], ARGV[2]
local key = 'key:' .. customer .. ':' .. ARGV[3]
local first = redis.call('GET', key)
if first then return first end
local terms = redis.call('HMGET', 'coupon:' .. coupon, 'max_uses', 'max_uses_per_user', 'used')
if not terms[1] then return 'unknown' end
if tonumber(terms[3]) >= tonumber(terms[1]) then return 'used_up' end
local uses = redis.call('HGET', 'uses:' .. coupon, customer)
if uses and tonumber(uses) >= tonumber(terms[2]) then return 'user_used_up' end
redis.call('HINCRBY', 'coupon:' .. coupon, 'used', 1)
redis.call('HINCRBY', 'uses:' .. coupon, customer, 1)
redis.call('HSET', 'redemption:' .. ARGV[4], 'key', ARGV[3], 'coupon_id', coupon, 'customer_id', customer,
	'state', 'reserved', 'origin', 'points', 'points', 50, 'points_state', 'pending',
	'deadline', ARGV[5], 'created_at', ARGV[6], 'updated_at', ARGV[6])
redis.call('SET', key, ARGV[4])
return ARGV[4]
`)

func scriptArguments(r request) []any {
	return []any{
		r.coupon, r.customer, r.key, r.id,
		strconv.FormatInt(r.at.Add(hour).UnixMicro(), 10), strconv.FormatInt(r.at.UnixMicro(), 10),
	}
}

// fillRedis measures one cell on an emptied Redis.
func (b *bench) fillRedis(ctx context.Context, w way, c cell) (observed, error) {
	client := redis.NewClient(&redis.Options{Addr: b.redis.address, PoolSize: max(c.clients, 4), ReadTimeout: time.Minute})
	defer func() { _ = client.Close() }()
	if err := prepareRedis(ctx, client, c.content.coupons); err != nil {
		return observed{}, err
	}
	redeem, finish := redisEach(client), nothing
	if w.pipelined {
		redeem, finish = redisPipelined(client)
	}
	o, err := run(ctx, redeem, b.now(c, 0))
	if err := errors.Join(err, finish()); err != nil {
		return observed{}, err
	}
	used, err := countRedis(ctx, client, c.content.coupons)
	if err == nil && used != o.Counted {
		err = fmt.Errorf("%d uses for %d acknowledged redemptions", used, o.Counted)
	}
	return o, err
}

// prepareRedis leaves nothing but coupons and the script.
func prepareRedis(ctx context.Context, client *redis.Client, coupons int) error {
	if err := client.FlushAll(ctx).Err(); err != nil {
		return err
	}
	for n := range coupons {
		if err := client.HSet(ctx, "coupon:"+couponID(n), "max_uses", places, "max_uses_per_user", 1_000_000, "used", 0).Err(); err != nil {
			return err
		}
	}
	return redeemScript.Load(ctx, client).Err()
}

// countRedis is how often the coupons were used.
func countRedis(ctx context.Context, client *redis.Client, coupons int) (sum int64, err error) {
	for n := range coupons {
		used, err := client.HGet(ctx, "coupon:"+couponID(n), "used").Int64()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// redisEach sends every call by itself, on a connection of the client.
func redisEach(client *redis.Client) redeemer {
	return func(ctx context.Context, r request) error {
		answer, err := redeemScript.EvalSha(ctx, client, nil, scriptArguments(r)...).Text()
		return accepted(r, answer, err)
	}
}

func accepted(r request, answer string, err error) error {
	if err == nil && answer != r.id {
		return fmt.Errorf("redemption %s: %s", r.id, answer)
	}
	return err
}

// redisPipelined sends what has gathered while the last pipeline was on its way.
func redisPipelined(client *redis.Client) (redeemer, func() error) {
	return natural(func(requests []request) []error {
		ctx := context.Background()
		pipeline := client.Pipeline()
		commands := make([]*redis.Cmd, len(requests))
		for i, r := range requests {
			commands[i] = redeemScript.EvalSha(ctx, pipeline, nil, scriptArguments(r)...)
		}
		_, failure := pipeline.Exec(ctx)
		errs := make([]error, len(requests))
		for i, command := range commands {
			answer, err := command.Text()
			errs[i] = errors.Join(failure, accepted(requests[i], answer, err))
		}
		return errs
	})
}
