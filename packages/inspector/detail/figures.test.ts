import type { RoundView } from 'millrace/view'
import { expect, it } from 'vitest'
import { firstTokenMs, roundMs, tokensPerSecond } from './figures.ts'

const round = (more: object) =>
  ({ startedAt: 1000, firstAt: 1500, endedAt: 3500, ...more }) as unknown as RoundView
const usage = { outputTokens: 100 }

it('timings measured by the process take precedence over log times', () => {
  const measured = round({ end: { usage, timings: { firstEventMs: 480, ms: 2480 } } })
  expect([firstTokenMs(measured), roundMs(measured)]).toEqual([480, 2480])
  expect([firstTokenMs(round({})), roundMs(round({}))]).toEqual([500, 2500])
})

it('figures of what has not happened yet are undefined', () => {
  const started = round({ firstAt: undefined, endedAt: undefined })
  expect([firstTokenMs(started), roundMs(started), tokensPerSecond([started])]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(tokensPerSecond([round({ firstAt: 3500, end: { usage } })])).toBeUndefined()
})

it('the speed counts only the time in which a model generated', () => {
  const rounds = [
    round({ end: { usage } }),
    round({ startedAt: 9000, firstAt: 9500, endedAt: 10_500, end: { usage } }),
    round({}),
  ]
  expect(tokensPerSecond(rounds)).toBeCloseTo(200 / 3)
})
