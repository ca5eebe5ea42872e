/**
 * The lifetime of module state. A process has at most one open service; state that belongs to it is created on first
 * use and discarded when the next service opens, so that importing a module has no effect and a service can be opened
 * again after it was closed (docs/adr/0001-current-service.md).
 */
let scope = 0;

/** Discards everything that was created with {@link perService}. Called by `openService` and `close`. */
export function resetServiceScope(): void {
  scope += 1;
}

/**
 * Declares a value that belongs to the open service.
 * @param create called at the first use after a service was opened.
 * @returns a function that returns the value.
 */
export function perService<Value>(create: () => Value): () => Value {
  let createdIn = -1;
  let value: Value;
  return () => {
    if (createdIn !== scope) {
      value = create();
      createdIn = scope;
    }
    return value;
  };
}
