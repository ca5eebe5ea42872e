import { AsyncResource } from 'node:async_hooks';
import { config } from '../../../lib/config.ts';
import { isDraining, trackInFlight } from '../../../lib/drain.ts';
import { logger } from '../../../lib/logger.ts';
import { perService } from '../../../lib/serviceScope.ts';

/** A step of a generation that waits for a slot of its upstream. */
export interface SlotTask {
  generationId: string;
  /** True if a reader waits for the generation. */
  isAwaited?: boolean | undefined;
  /** Bytes on the local disk while it runs. */
  bytes?: number;
  /** @param resize changes the bytes; returns false, and changes nothing, if there is no space for more. */
  run: (resize: (bytes: number) => boolean) => Promise<void>;
}

/** Bytes of the space of {@link UpstreamSlots}, held by one piece of work. */
interface HeldBytes {
  /** Changes the bytes. Returns false, and changes nothing, if there is no space for more. */
  resize: (bytes: number) => boolean;
  release: () => void;
}

/**
 * Slots of one step at one upstream in this process. Work that waits for a slot holds nothing else: no job, no claim
 * and no connection, so an upstream that hangs delays its own generations only. What waits when the process ends is due
 * in its row, and so is what waits here while another process has a free slot: the sweep enqueues both again.
 */
export class UpstreamSlots {
  readonly #slots: number;
  readonly #bytesMax: number;
  /** Tasks by generation, so that a repeated job adds none. */
  readonly #awaited = new Map<string, SlotTask>();
  readonly #others = new Map<string, SlotTask>();
  #running = 0;
  #bytes = 0;
  /** Number of pieces of work that hold bytes. One that is alone may hold any number. */
  #holders = 0;

  constructor(slots: number, bytesMax: number) {
    this.#slots = slots;
    this.#bytesMax = bytesMax;
  }

  /**
   * Runs the task when a slot and the bytes are free: those with a reader first, then in the order of their arrival.
   */
  add(task: SlotTask): void {
    const { generationId, isAwaited = false } = task;
    const isQueued = this.#awaited.has(generationId) || (!isAwaited && this.#others.has(generationId));
    if (!isQueued) {
      this.#others.delete(generationId);
      // Logs and traces name the job that added the task, and not the one that has freed the slot.
      const run = AsyncResource.bind(task.run);
      (isAwaited ? this.#awaited : this.#others).set(generationId, { ...task, run });
    }
    this.#startNext();
  }

  /** Returns whether a task of this size would run at once. */
  hasRoom(bytes: number): boolean {
    const isWaiting = this.#awaited.size + this.#others.size > 0;
    return !isWaiting && this.#running < this.#slots && this.#hasSpace(bytes) && !isDraining();
  }

  #hasSpace(bytes: number): boolean {
    return this.#holders === 0 || this.#bytes + bytes <= this.#bytesMax;
  }

  /** Holds bytes of the space for work without a slot here. */
  hold(initial = 0): HeldBytes {
    let held = initial;
    this.#holders += 1;
    this.#bytes += held;
    return {
      resize: (bytes) => {
        if (this.#holders > 1 && bytes > held && this.#bytes + bytes - held > this.#bytesMax) return false;
        this.#bytes += bytes - held;
        held = bytes;
        return true;
      },
      release: () => {
        this.#holders -= 1;
        this.#bytes -= held;
        this.#startNext();
      },
    };
  }

  #startNext(): void {
    while (this.#running < this.#slots && !isDraining()) {
      const queue = this.#awaited.size > 0 ? this.#awaited : this.#others;
      const [next] = queue.values();
      // A task that needs more than there is holds back those behind it, which would otherwise always precede it.
      if (next === undefined || !this.#hasSpace(next.bytes ?? 0)) return;
      queue.delete(next.generationId);
      this.#start(next);
    }
  }

  #start({ generationId, run, bytes }: SlotTask): void {
    this.#running += 1;
    const { resize, release } = this.hold(bytes);
    const work = run(resize).catch((err: unknown) =>
      logger.error({ err, generationId }, 'step failed; sweep will retry'),
    );
    trackInFlight(
      work.finally(() => {
        this.#running -= 1;
        release();
      }),
    );
  }
}

const allSlots = perService(() => new Map<string, UpstreamSlots>());

/**
 * Returns the slots of a step at an upstream: UPSTREAM_CONCURRENCY. Outputs on the local disk at a time are bounded for
 * each upstream by the size of the largest output: of space that upstreams shared, slow files of one could leave none.
 */
export function getUpstreamSlots(step: 'submit' | 'poll' | 'cancel' | 'collect', upstream: string): UpstreamSlots {
  const key = `${step} ${upstream}`;
  let slots = allSlots().get(key);
  if (slots === undefined) {
    slots = new UpstreamSlots(config.UPSTREAM_CONCURRENCY, config.MEDIA_MAX_BYTES);
    allSlots().set(key, slots);
  }
  return slots;
}
