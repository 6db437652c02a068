import { answer, configOf } from '../../bench/harness/answer.ts'
import { delaysIn, histogram } from '../../bench/harness/measure.ts'
import { random } from '../survival/random.ts'
import { call } from './caller.ts'

// All ordinary callers, in their own process.

const { url, seed, callers } = configOf<{ url: string; seed: string; callers: number }>()
let delays = histogram()
let answers = 0
let faults: string[] = []
let isOver = false
let calling: Promise<unknown> = Promise.resolve()

const asked = {
  begin() {
    calling = Promise.all(
      Array.from({ length: callers }, (_, index) =>
        call({
          url,
          user: `user-${index}`,
          random: random(`${seed} ${index}`),
          isOver: () => isOver,
          onDelay: (ms) => delays.add(ms),
          onFault: (fault) => faults.push(fault),
          onAnswer: () => answers++,
        }),
      ),
    )
  },
  /** Since the last call. */
  seen() {
    const seen = { delays: delaysIn(delays.counts()), answers, faults }
    delays = histogram()
    answers = 0
    faults = []
    return seen
  },
  async end() {
    isOver = true
    await calling
  },
}
export type CallersAnswers = typeof asked
answer(asked)
