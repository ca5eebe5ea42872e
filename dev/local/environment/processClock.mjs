/**
 * Preloaded into a process of the service: moves its clock on messages from its parent, as when a system clock is
 * corrected or a machine wakes up. The clocks of Redis and Postgres do not move.
 */
const RealDate = Date;
let offsetMs = Number(process.env['PROCESS_CLOCK_OFFSET_MS'] ?? 0);
const now = () => RealDate.now() + offsetMs;

const MovedDate = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget === MovedDate ? target : newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : target[name]),
});
RealDate.prototype.constructor = MovedDate;
globalThis.Date = MovedDate;

process.on('message', (message) => {
  offsetMs = Number(message);
  process.send?.(message);
});
// The parent has died, so that no other process would stop this one.
process.on('disconnect', () => process.exit(1));
// The channel alone must not keep the process alive.
process.channel?.unref();
