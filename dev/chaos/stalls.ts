/** A period in which this process, and all traffic through it, stood still, between two times of `Date.now`. */
export interface Stall {
  from: number;
  to: number;
}

const CHECK_INTERVAL_MS = 200;
const MIN_STALL_MS = 1_000;

/** Records when this process is not scheduled: long durations then say nothing about the service. */
export function watchStalls(): { stalls: Stall[]; stop(): void } {
  const stalls: Stall[] = [];
  let last = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    if (now - last > MIN_STALL_MS) stalls.push({ from: last, to: now });
    last = now;
  }, CHECK_INTERVAL_MS);
  return { stalls, stop: () => clearInterval(timer) };
}
