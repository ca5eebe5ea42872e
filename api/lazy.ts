/** A value, or a function that returns it when it is needed. */
export type Lazy<Value> = Value | (() => Value);

export function resolve<Value>(value: Lazy<Value>): Value {
  return typeof value === 'function' ? (value as () => Value)() : value;
}
