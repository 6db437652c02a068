import type { OptionTable, Problem } from '../protocol/index.ts'
import { checkOptions, invalidInput, isObject, kindOf, nameOf } from '../protocol/index.ts'

/**
 * Throws `invalid_input` if the options are not an object, or one of them is unknown or invalid.
 */
export function checkKitOptions<Options>(options: unknown, table: OptionTable<Options>, op: string): void {
  if (!isObject(options))
    throw invalidInput(
      op,
      `the options of ${op}() must be an object such as { ${Object.keys(table)[0]}: … }, not ${kindOf(options)}`,
    )
  checkOptions(options, table, { op, what: `the option of ${op}()` })
}

export function clockProblem(value: unknown): Problem {
  const isClock =
    isObject(value) && ['now', 'after', 'turn'].every((method) => typeof value[method] === 'function')
  return !isClock && `must be a clock (with now, after and turn), not ${kindOf(value)}`
}

export function milliseconds(value: unknown): Problem {
  return (
    !(typeof value === 'number' && value >= 0) && `must be a number of milliseconds, not ${nameOf(value)}`
  )
}
