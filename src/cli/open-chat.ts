import { invalidInput } from '../protocol/index.ts'
import { chat } from './chat/index.ts'
import { dataPath } from './data.ts'
import type { Flags } from './flags.ts'
import { resumeHint } from './hints.ts'
import { openModel } from './models.ts'
import { newId, openTalk } from './talk.ts'

/** A chat in the terminal, with the thread and the agent that the flags name. */
export async function openChat(flags: Flags): Promise<number> {
  const own = (['timeout', 'quiet'] as const).find((name) => flags[name] !== undefined)
  if (own) throw invalidInput('millrace', `--${own} is for a question, and there is none`)
  let tell: ((problem: unknown) => void) | undefined
  const { app, thread, here, agent } = await openTalk(flags, { onError: (problem) => tell?.(problem) })
  const model = here && {
    name: () => `${here.model.provider}/${here.model.id}`,
    use: async (name: string) => here.model.use((await openModel(name)).model),
  }
  try {
    return await chat({
      app,
      thread: thread.id,
      agent,
      newId,
      model,
      tools: here?.tools,
      historyFile: `${dataPath(flags.data)}.history`,
      resumeHint: (id) => resumeHint(id, flags),
      onListen(listener) {
        tell = listener
      },
    })
  } finally {
    await app.close({ graceMs: 0 })
  }
}
