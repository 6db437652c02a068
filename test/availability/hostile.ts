import { setTimeout as wait } from 'node:timers/promises'
import { answer, configOf } from '../../bench/harness/answer.ts'
import { random } from '../survival/random.ts'
import { connections } from './connections.ts'
import type { SoakSize } from './options.ts'
import type { Attack } from './requests.ts'
import { requests } from './requests.ts'

// The hostile caller, in its own process: all attacks at once, until the process ends.

const { url, seed, size, only } = configOf<{
  url: string
  seed: string
  size: SoakSize
  only: readonly string[]
}>()

/** How many of a kind run at the same time. */
const requestsAtOnce = 3
const connectionsAtOnce = 20
/**
 * Rejections come back at once, and retrying without a pause would load the machine, not only the
 * server.
 */
const pauseMs = 20

/** How often each attack had which outcome, including pending ones. */
const outcomes = new Map<string, Map<string, number>>()
const pending = 'unanswered'

async function repeat(name: string, attack: Attack, worker: number) {
  const chance = random(`${seed} ${name} ${worker}`)
  const own = outcomes.get(name) ?? new Map<string, number>()
  outcomes.set(name, own)
  for (;;) {
    await wait(chance.whole(0, 2 * pauseMs))
    count(own, pending, 1)
    const outcome = await attack(chance).catch((error: Error) => error.name)
    count(own, pending, -1)
    count(own, outcome, 1)
  }
}

function count(own: Map<string, number>, outcome: string, more: number) {
  own.set(outcome, (own.get(outcome) ?? 0) + more)
}

function start(attacks: Readonly<Record<string, Attack>>, atOnce: number) {
  for (const [name, attack] of Object.entries(attacks))
    if (only.length === 0 || only.some((word) => name.includes(word)))
      for (let worker = 0; worker < atOnce; worker++) void repeat(name, attack, worker)
}

const asked = {
  begin() {
    start(requests(url, size), requestsAtOnce)
    start(connections(url), connectionsAtOnce)
  },
  outcomes: () => Object.fromEntries(Array.from(outcomes, ([name, own]) => [name, Object.fromEntries(own)])),
}
export type HostileAnswers = typeof asked
answer(asked)
