import type { Entry } from '../../protocol/index.ts'
import { invalidInput } from '../../protocol/index.ts'
import { readLog } from './log.ts'
import { planTest } from './plan.ts'
import { sourceOf } from './source.ts'

export interface TestScriptOptions {
  /** That of the test; what was said first, if absent. */
  readonly name?: string | undefined
}

/**
 * The source of a test that plays the conversation of a thread again: each round of the log is one of a scripted model, tools
 * answer as they did, people say and decide the same. Throws `invalid_input` if nothing has run yet.
 */
export function testScript(entries: readonly Entry[], { name }: TestScriptOptions = {}): string {
  const thread = readLog(entries)
  if (thread.runs.length === 0)
    throw invalidInput('testScript', 'nothing has run in this thread yet, so there is nothing to test')
  return sourceOf(thread, planTest(thread), name)
}
