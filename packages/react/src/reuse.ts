/** `before` if it has the same fields or items as `next`. */
export function reuse<Value extends object>(before: Value | undefined, next: Value): Value {
  if (!before) return next
  const names = Object.keys(next) as (keyof Value)[]
  const isSame =
    names.length === Object.keys(before).length && names.every((name) => Object.is(before[name], next[name]))
  return isSame ? before : next
}
