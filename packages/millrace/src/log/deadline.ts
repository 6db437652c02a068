import { MillraceError } from '../protocol/index.ts'

/** The result of a call of a store, or a `store_error` if it takes longer. */
export function deadline<Value>(work: Promise<Value>, name: string, timeoutMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(noAnswer(name, timeoutMs)), timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function noAnswer(name: string, timeoutMs: number): MillraceError {
  const message = `the store did not answer ${name}() within ${timeoutMs} ms: check that it is running and can be reached`
  return new MillraceError({ op: `store.${name}`, code: 'store_error', message })
}
