import { agent } from '../agent/index.ts'
import type { MillraceError, Telemetry, ThreadInfo } from '../protocol/index.ts'
import { invalidInput } from '../protocol/index.ts'
import type { App, Thread } from '../threads/index.ts'
import { millrace } from '../threads/index.ts'
import type { Tool } from '../tools/index.ts'
import { noticesOf, toolsIn } from '../tools/index.ts'
import type { ChangeableModel } from './changeable-model.ts'
import { changeableModel } from './changeable-model.ts'
import { onlyOwn } from './claims.ts'
import { openData } from './data.ts'
import type { Flags } from './flags.ts'
import { openModel } from './models.ts'
import { noThread, ownAgent, visit, withStore } from './threads-at.ts'
import { toolsFrom } from './tools-file.ts'

/** A thread that a person at the command line talks to. */
export interface Talk {
  readonly app: App
  readonly thread: Thread
  /** Who answers here; absent if the thread is another agent's, whose server has to. */
  readonly here?: {
    readonly model: ChangeableModel
    readonly why?: string
    readonly tools: readonly Tool[]
    /** What to know of them, for people. */
    readonly notices: readonly string[]
  }
  readonly agent: string
  /** Aborted, with what went wrong, when the log cannot be written or read any more. */
  readonly failure: AbortSignal
}

type TalkFlags = Pick<Flags, 'model' | 'system' | 'tools' | 'data' | 'thread' | 'new'>

interface TalkOptions {
  /** Looks on at what is done here. */
  readonly telemetry: readonly Telemetry[]
  /** Told of what goes wrong in the background; a failure for good if absent. */
  readonly onError?: (error: MillraceError) => void
}

/** Opens the thread that the flags name, or a new one, with an agent made of the other flags. Nothing is said to it yet. */
export async function openTalk(flags: TalkFlags, { telemetry, onError }: TalkOptions): Promise<Talk> {
  const { thread: id, new: isNew = false } = flags
  const failing = new AbortController()
  const failure = failing.signal
  const store = openData(flags.data, { mustExist: id !== undefined && !isNew })
  try {
    const info = id === undefined ? undefined : await store.get(id)
    if (id !== undefined && !info && !isNew) throw noThread(id)
    if (info && isNew)
      throw invalidInput('millrace', `there is a thread '${id}' already: leave out --new to go on with it`)
    if (info && info.agent !== ownAgent) {
      checkFlagsOfVisitor(flags, info)
      return { ...visit(store, info), agent: info.agent, failure }
    }
    const { tools, permission } = await toolsFrom(flags.tools)
    const notices = await noticesOf(tools)
    const { model: found, why } = await openModel(flags.model)
    const model = changeableModel(found)
    const app = withStore(
      millrace({
        agents: agent({ name: ownAgent, model, tools, permission, system: flags.system }),
        store: onlyOwn(store, info ? [info.id] : []),
        telemetry,
        onError: onError ?? ((error) => failing.abort(error)),
      }),
      store,
    )
    const here = { model, tools: toolsIn(tools), notices, ...(why !== undefined && { why }) }
    return { app, thread: app.thread(id ?? newId()), here, agent: ownAgent, failure }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Whose agent is elsewhere is answered as that agent is made, whatever is asked for here. */
function checkFlagsOfVisitor(flags: TalkFlags, { id, agent }: ThreadInfo): void {
  const own = (['model', 'system', 'tools'] as const).find((name) => flags[name] !== undefined)
  if (own)
    throw invalidInput(
      'millrace',
      `the thread '${id}' is one of the agent '${agent}', who does not heed --${own}`,
    )
}

/** Short enough to be typed; 51 bits are enough for one person's threads. */
export function newId(): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
  const bytes = crypto.getRandomValues(new Uint32Array(10))
  return Array.from(bytes, (byte) => letters[byte % letters.length]).join('')
}
