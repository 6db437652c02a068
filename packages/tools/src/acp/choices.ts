import type { SessionConfigOption, SessionInfo, SessionModeState } from '@agentclientprotocol/sdk'
import type { App, JsonObject, ThreadInfo } from 'millrace'
import { isObject } from 'millrace/internal'
import type { Mode } from './modes.ts'
import { isMode, modes } from './modes.ts'

/** What the user has chosen for a session. */
export interface SessionSettings {
  mode: Mode
  model: string | undefined
}

/** What was chosen for a thread before. It is stored with the thread, so that it survives the process. */
export function savedIn({ metadata }: ThreadInfo): SessionSettings & { readonly cwd: string } {
  const { cwd, mode, model } = (isObject(metadata?.acp) ? metadata.acp : {}) as JsonObject
  return {
    cwd: typeof cwd === 'string' ? cwd : process.cwd(),
    mode: isMode(mode) ? mode : 'default',
    model: typeof model === 'string' ? model : undefined,
  }
}

export function modelsOf(app: App, agent: string): string[] {
  return app.describe(agent).models.flatMap(({ id, isFallback }) => (isFallback ? [] : [id]))
}

/** What the user may choose. Modes are also among the options, as in newer clients. */
export function choicesOf(
  app: App,
  { agent }: ThreadInfo,
  { mode, model }: SessionSettings,
): { readonly modes: SessionModeState; readonly configOptions: SessionConfigOption[] } {
  const models = modelsOf(app, agent)
  const options = [
    select('mode', 'Mode', mode, modes),
    select('model', 'Model', model ?? models[0] ?? '', models.map(named)),
    select('agent', 'Agent', agent, app.agents.map(named)),
  ]
  return {
    modes: { currentModeId: mode, availableModes: modes.map((one) => ({ ...one })) },
    configOptions: options.filter(({ options }) => options.length > 1),
  }
}

interface Choice {
  readonly id: string
  readonly name: string
}

const named = (id: string): Choice => ({ id, name: id })

function select(id: string, name: string, currentValue: string, choices: readonly Choice[]) {
  const category = id === 'agent' ? {} : { category: id }
  const options = choices.map(({ id, name }) => ({ value: id, name }))
  return { type: 'select' as const, id, name, ...category, currentValue, options }
}

const maxListed = 50

/** The threads as sessions, in pages. */
export async function listSessions(
  app: App,
  { cwd, cursor }: { readonly cwd?: string | null; readonly cursor?: string | null },
) {
  const sessions: SessionInfo[] = []
  let next = cursor ?? undefined
  do {
    const page = await app.threads({ limit: maxListed, cursor: next })
    next = page.next
    for (const thread of page.threads) {
      const isHere = app.agents.includes(thread.agent) && (!cwd || savedIn(thread).cwd === cwd)
      // Editors open sessions in which no one writes anything.
      if (isHere && thread.title !== undefined) sessions.push(infoOf(thread))
    }
  } while (next !== undefined && sessions.length < maxListed)
  return { sessions, ...(next !== undefined && { nextCursor: next }) }
}

function infoOf(thread: ThreadInfo): SessionInfo {
  const { id, title = null, updatedAt } = thread
  return { sessionId: id, cwd: savedIn(thread).cwd, title, updatedAt: new Date(updatedAt).toISOString() }
}
