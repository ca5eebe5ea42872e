/**
 * The lifetime of module state. A process has at most one open service; state that belongs to it is created on first
 * use and discarded when the next service opens, so that importing a module has no effect and a service can be opened
 * again after it was closed (docs/adr/0001-current-service.md).
 */
let scope = 0;
let closers: (() => unknown)[] = [];

/** Discards everything that was created with {@link perService}. Called by `openService` and `close`. */
export function resetServiceScope(): void {
  scope += 1;
  closers = [];
}

/** Closes the values that were created with a `close` function. Called by `close`, before they are discarded. */
export async function closeServiceScope(): Promise<void> {
  const open = closers;
  closers = [];
  await Promise.all(open.map((close) => close()));
}

/**
 * Declares a value that belongs to the open service.
 * @param create called at the first use after a service was opened.
 * @param close called with a value that was created when the service closes.
 * @returns a function that returns the value.
 */
export function perService<Value>(create: () => Value, close?: (value: Value) => unknown): () => Value {
  let createdIn = -1;
  let value: Value;
  return () => {
    if (createdIn !== scope) {
      value = create();
      createdIn = scope;
      if (close !== undefined) closers.push(() => close(value));
    }
    return value;
  };
}
