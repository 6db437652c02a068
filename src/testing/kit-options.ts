import type { OptionTable, Problem } from '../protocol/index.ts'
import { checkOptions, closest, invalidInput, isObject, kindOf, nameOf } from '../protocol/index.ts'

/** Throws `invalid_input` if these are no options, or one of them does not exist or has a value it cannot have. */
export function checkKitOptions<Options>(options: unknown, table: OptionTable<Options>, op: string): void {
  if (!isObject(options))
    throw invalidInput(
      op,
      `the options of ${op}() must be an object such as { ${Object.keys(table)[0]}: … }, not ${kindOf(options)}`,
    )
  const what = `the option of ${op}()`
  const names = Object.keys(table)
  for (const key of Object.keys(options).filter((key) => !Object.hasOwn(table, key))) {
    // Half a name is too far from the whole to be guessed by its letters: `delta` for `deltaChars`.
    const like = closest(key, names) ?? names.find((name) => name.startsWith(key))
    const hint = like ? `did you mean '${like}'?` : `there are ${names.join(', ')}`
    throw invalidInput(op, `${what} '${key}' does not exist: ${hint}`)
  }
  checkOptions(options, table, { op, what })
}

export function clockProblem(value: unknown): Problem {
  const sound =
    isObject(value) && ['now', 'after', 'turn'].every((method) => typeof value[method] === 'function')
  return !sound && `must be a clock (with now, after and turn), not ${kindOf(value)}`
}

export function milliseconds(value: unknown): Problem {
  return (
    !(typeof value === 'number' && value >= 0) && `must be a number of milliseconds, not ${nameOf(value)}`
  )
}
