/**
 * Loaded before a process of the service: moves its clock as it is told, from outside and while it runs, as an operating
 * system does that is set right, or a machine that wakes up. What Redis and Postgres go by is not moved.
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
  process.send?.('clock moved');
});
// Whoever started it is gone: nobody would end it.
process.on('disconnect', () => process.exit(1));
// To be told the time keeps no process alive.
process.channel?.unref();
