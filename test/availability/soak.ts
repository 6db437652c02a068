// node test/availability/soak.ts [seconds] [seed] [--times] [--only words,…] [--profile folder]
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Child } from '../../bench/harness/process.ts'
import { startChild } from '../../bench/harness/process.ts'
import { writeLongThread } from '../../bench/load/long-thread.ts'
import { sqliteStore } from '../../packages/millrace/src/log/sqlite.ts'
import type { CallersAnswers } from './callers.ts'
import type { HostileAnswers } from './hostile.ts'
import { hostileThread, longThread, memoryBound, size } from './options.ts'
import type { ServerAnswers } from './serve.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: 'boolean', default: false },
    only: { type: 'string' },
    profile: { type: 'string' },
  },
})
const [seconds = '90', seed = String(Date.now() % 2 ** 31)] = positionals

const say = (text: string) => process.stdout.write(`soak: ${text}\n`)
const mb = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MB`
const here = (file: string) => join(import.meta.dirname, file)

/** The figures of a phase. */
interface Phase {
  readonly p99: number
  readonly faults: readonly string[]
}

const parts: Child<never>[] = []
function start<Answers extends Parameters<typeof startChild>[1]>(
  file: string,
  config: object,
  execArgv: readonly string[] = [],
) {
  const part = startChild<Answers & Record<string, (about: never) => unknown>>(here(file), config, {
    execArgv,
  })
  parts.push(part as Child<never>)
  return part
}

async function soak(folder: string): Promise<readonly string[]> {
  const file = join(folder, 'threads.db')
  const store = sqliteStore(file)
  await writeLongThread(store, { id: longThread, entries: size.longEntries, ...hostileThread })
  await store.close()
  const { profile } = values
  const server = start<ServerAnswers>(
    'serve.ts',
    { file },
    profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
  )
  const url = await server.ask('open')
  const callers = start<CallersAnswers>('callers.ts', { url, seed, callers: size.callers })
  const only = values.only?.split(',') ?? []
  const hostile = start<HostileAnswers>('hostile.ts', { url, seed, size, only })

  async function phase(name: string, ms: number): Promise<Phase> {
    await callers.ask('seen')
    await server.ask('seen')
    await wait(ms)
    const { delays, answers, faults } = await callers.ask('seen')
    const { longestTurn, busiestTurn, load, memory, most, errors } = await server.ask('seen')
    const { p50 = 0, p99 = 0, max = 0 } = delays ?? {}
    say(`${name}: ${answers} answers; from disk to follower ${p50} / ${p99} / ${max} ms (p50 / p99 / max)`)
    say(
      `${name}: the longest event loop turn took ${Math.round(longestTurn)} ms, the busiest ${Math.round(busiestTurn)} ms of CPU; its thread was busy for ${Math.round(100 * load)} % of the time; memory ${mb(memory)}, peak ${mb(most)}`,
    )
    return {
      p99,
      faults: [
        ...faults,
        ...(answers === 0 ? ['no message was answered'] : []),
        ...errors.map((error) => `the server reported ${error}`),
        ...(most > memoryBound ? [`the server took ${mb(most)}, more than ${mb(memoryBound)}`] : []),
      ].map((fault) => `${name}: ${fault}`),
    }
  }

  await callers.ask('begin')
  // Warm-up.
  await wait(3000)
  const quiet = await phase('quiet', (Number(seconds) * 1000) / 3)
  await hostile.ask('begin')
  const attacked = await phase('hostile', (Number(seconds) * 2000) / 3)
  const ratio = attacked.p99 / quiet.p99
  say(`p99 under attack is ${ratio.toFixed(2)} times the quiet one`)
  const outcomes = Object.entries(await hostile.ask('outcomes'))
  for (const [name, own] of outcomes)
    say(
      `  ${name}: ${Object.entries(own)
        .filter(([, count]) => count > 0)
        .map(([outcome, count]) => `${outcome} × ${count}`)
        .join('; ')}`,
    )
  await hostile.stop()
  await callers.ask('end')
  const { faults } = await callers.ask('seen')
  return [
    ...quiet.faults,
    ...attacked.faults,
    ...faults.map((fault) => `at the end: ${fault}`),
    ...outcomes.filter(([, own]) => Object.keys(own).length === 0).map(([name]) => `${name}: never tried`),
    ...(values.times && ratio > 2 ? [`the p99 under attack is ${ratio.toFixed(2)} times the quiet one`] : []),
  ]
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-soak-'))
try {
  say(`${seconds} s, seed ${seed}; memory may grow to ${mb(memoryBound)}`)
  const faults = await soak(folder)
  for (const fault of faults.slice(0, 40)) say(fault)
  say(faults.length === 0 ? 'no faults' : `${faults.length} faults; the seed is ${seed}`)
  if (faults.length > 0) process.exitCode = 1
} catch (error) {
  say(`aborted: ${error instanceof Error ? error.message : error}; the seed is ${seed}`)
  process.exitCode = 1
} finally {
  await Promise.all(parts.map((part) => part.stop()))
  await rm(folder, { recursive: true, force: true })
}
