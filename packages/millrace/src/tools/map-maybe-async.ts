/** Calls `next` at once with a plain value, and later with the value of a promise. */
export function mapMaybeAsync<Value, Next>(
  value: Value | PromiseLike<Value>,
  next: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value)
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
