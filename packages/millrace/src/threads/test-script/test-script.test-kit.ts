import { stripTypeScriptTypes } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect } from 'vitest'
import * as millrace from '../../index.ts'
import { type Entry, type ThreadEvent, wholeLog } from '../../protocol/index.ts'
import type { ScriptStep } from '../../testing/index.ts'
import * as testing from '../../testing/index.ts'

/** Runs the test in a source. Returns its name; rethrows its error. */
export async function play(source: string): Promise<string> {
  const modules: Record<string, object> = {
    millrace,
    'millrace/testing': testing,
    vitest: { expect, test: (name: string, run: () => Promise<void>) => found.push({ name, run }) },
  }
  const found: { name: string; run: () => Promise<void> }[] = []
  const plain = stripTypeScriptTypes(source).replace(
    /^import \{([^}]*)\} from '([^']*)'$/gm,
    (_, names, from) => `const {${names}} = modules['${from}']`,
  )
  new Function('modules', plain)(modules)
  const [only] = found
  if (!only || found.length > 1) throw new Error(`expected exactly one test in:\n${source}`)
  await only.run()
  return only.name
}

/** What happens to a thread, in order. */
export type Action =
  | { readonly send: string; readonly mode: 'queue' | 'steer' | 'interrupt' }
  | { readonly stop: string }
  | { readonly decide: boolean; readonly input?: object }
  /** Waits for the first event of this type. */
  | { readonly seen: ThreadEvent['type'] }
  | { readonly do: () => void }
  /** Goes back to the last entry of this type, or the one before it, and so on. */
  | { readonly rewind: 'input' | 'run-start' | 'rewind'; readonly back?: number }
  /** Closes the app; another one continues. */
  | { readonly reopen: true }
  | { readonly rest: true }
  | { readonly waitMs: number }

/** Returns the log of a conversation after these actions. */
export async function converse(
  agents: millrace.Agent<unknown, undefined, undefined>,
  actions: readonly Action[],
): Promise<readonly Entry[]> {
  const store = millrace.memoryStore()
  const open = () => millrace.millrace({ agents, store, flushMs: 1, recoverMs: 10 })
  let app = open()
  const { id } = app.thread()
  for (const action of actions) {
    const thread = app.thread(id)
    if ('send' in action) await thread.send(action.send, { mode: action.mode })
    else if ('stop' in action) await thread.stop(action.stop).catch(() => {})
    else if ('waitMs' in action) await sleep(action.waitMs)
    else if ('do' in action) action.do()
    else if ('rewind' in action) {
      const places = (await wholeLog(thread)).filter(({ event }) => event.type === action.rewind)
      const place = places.at(-1 - (action.back ?? 0))
      // It may have been replaced.
      if (place) await thread.rewind(place.seq).catch(() => {})
    } else if ('seen' in action) {
      for await (const { event } of thread.follow()) if (event.type === action.seen) break
    } else if ('reopen' in action) {
      await app.close({ graceMs: 0 })
      app = open()
    } else if ('rest' in action) for await (const _ of thread.follow({ until: 'idle' }));
    else {
      const [request] = (await thread.state()).approvals
      const { decide: approved, input } = action
      const answer = { approved, ...(input && approved && { input }) }
      if (request?.wants && approved) await thread.respond(request.callId, input ?? 'a result')
      else if (request) await thread.approve(request.callId, answer).catch(() => {})
    }
  }
  const log = await wholeLog(app.thread(id))
  await app.close({ graceMs: 0 })
  await store.close()
  return log
}

const names = ['plain', 'slow', 'bad', 'asks', 'sometimes_asks', 'picture', 'remote', 'unknown']
const words = fc.oneof(
  fc.constantFrom(
    'Hello. ',
    "It's </script> `$\x7b1}` \u2028\ud800.",
    'Ünïcödé 👍🏽 ',
    '"quoted" \\ back\\slash\n',
  ),
  fc.string({ minLength: 1, maxLength: 30, unit: 'binary' }),
)
const input = fc.dictionary(fc.constantFrom('a', 'b-c', '__proto__', 'n'), fc.oneof(fc.integer(), words), {
  maxKeys: 2,
  noNullPrototype: true,
})
const step: fc.Arbitrary<ScriptStep> = fc.oneof(
  { weight: 4, arbitrary: words.map((text) => ({ text })) },
  { weight: 1, arbitrary: words.map((reasoning) => ({ reasoning })) },
  {
    weight: 4,
    arbitrary: fc.record({ call: fc.constantFrom(...names), input: fc.oneof(fc.constant({}), input) }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ call: 'plain', raw: '{"a":' }, { call: 'plain', raw: '{"a"', cut: true }),
  },
  { weight: 1, arbitrary: fc.record({ providerTool: fc.constant('search'), input: fc.constant({ q: 1 }) }) },
  { weight: 1, arbitrary: fc.constantFrom({ pause: 2 }, { pause: 5 }) },
)
const last: fc.Arbitrary<readonly ScriptStep[]> = fc.oneof(
  { weight: 8, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.constant([{ usage: { inputTokens: 3, outputTokens: 4 } }]) },
  {
    weight: 1,
    arbitrary: fc.constantFrom([{ finish: 'length' as const }], [{ finish: 'refusal' as const }]),
  },
  { weight: 2, arbitrary: fc.constant([{ error: { code: 'overloaded' as const, message: 'busy' } }]) },
  { weight: 1, arbitrary: fc.constant([{ error: { code: 'auth' as const, message: 'no key' } }]) },
  { weight: 1, arbitrary: fc.constant([{ end: true as const }]) },
  { weight: 1, arbitrary: fc.constant([{ pause: 40 }]) },
)
const round = fc
  .tuple(fc.array(step, { maxLength: 4 }), last)
  .map(([steps, end]): ScriptStep[] => [...steps, ...end])
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      send: words.map((text) => `Say ${text}`),
      mode: fc.constantFrom('queue' as const, 'queue' as const, 'steer' as const, 'interrupt' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ decide: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ decide: fc.boolean(), input: fc.constant({ changed: true }) }) },
  { weight: 1, arbitrary: fc.record({ stop: fc.constantFrom('enough', "that's it") }) },
  { weight: 1, arbitrary: fc.constant({ reopen: true as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      rewind: fc.constantFrom('input' as const, 'run-start' as const, 'rewind' as const),
      back: fc.nat(1),
    }),
  },
  { weight: 3, arbitrary: fc.constant({ rest: true as const }) },
  { weight: 3, arbitrary: fc.nat(12).map((waitMs) => ({ waitMs })) },
)

export const conversations = fc.record({
  rounds: fc.array(round, { minLength: 1, maxLength: 12 }),
  actions: fc
    .array(action, { maxLength: 10 })
    .map((actions): Action[] => [{ send: 'Good day.', mode: 'queue' }, ...actions]),
  maxRounds: fc.constantFrom(10, 2),
  onToolError: fc.constantFrom('continue' as const, 'continue' as const, 'fail' as const),
})

/** An agent whose tools cover all kinds of results. */
export function tester(
  rounds: readonly testing.ScriptRound[],
  options: Partial<millrace.AgentOptions> = {},
): millrace.Agent<unknown, undefined, undefined> {
  const define = (name: string, run: () => unknown, more: object = {}) =>
    millrace.tool({ name, description: name, input: { jsonSchema: { type: 'object' } }, run, ...more })
  let turn = 0
  const tools = [
    define('plain', () => ({ turn: ++turn })),
    define('slow', () => sleep(5, 'slow'), { repeat: 'safe' }),
    define('bad', () => {
      throw new Error('it is broken')
    }),
    define('asks', () => 'done', { approve: () => 'Really?' }),
    define('sometimes_asks', () => undefined, { approve: ({ a }: { a?: unknown }) => a === undefined }),
    define('picture', () =>
      millrace.toolContent([
        { type: 'text', text: 'a picture' },
        { type: 'json', value: 'text' },
      ]),
    ),
  ]
  const remote = { name: 'remote', description: 'remote', input: { jsonSchema: { type: 'object' } } } as const
  return millrace.agent({
    name: 'tester',
    model: testing.scriptedModel((_, index) => rounds[index] ?? 'That is all.'),
    tools: [...tools, millrace.tool(remote)],
    retry: { baseMs: 1 },
    beforeCall: ({ input }) =>
      'b-c' in input ? { block: 'not that' } : 'n' in input ? { input: { n: 'changed' } } : undefined,
    ...options,
    output: undefined,
  })
}
