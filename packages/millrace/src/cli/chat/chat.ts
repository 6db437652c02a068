import type { ReadStream, WriteStream } from 'node:tty'
import type { OptionTable } from '../../protocol/index.ts'
import { aFunction, anObject, anything, checkOptions, messageOf, someText } from '../../protocol/index.ts'
import type { App } from '../../threads/index.ts'
import { wantsColor } from '../colors.ts'
import { cleanLine } from '../terminal/index.ts'
import type { ChatModel, CommandContext, ToolWords } from './commands.ts'
import { isCommand, runCommand } from './commands.ts'
import type { Front, Person } from './front.ts'
import { openHistory } from './history.ts'
import { lineFront } from './line-front.ts'
import { screenFront } from './screen-front.ts'
import { openSession } from './session.ts'

export interface ChatOptions {
  /** Stays open: whoever opened it closes it. */
  readonly app: App
  /** The conversation to go on with, or the id of the one to begin; a new one if absent. */
  readonly thread?: string | undefined
  /** Who answers in a new conversation; the first of the app's agents if absent. */
  readonly agent?: string | undefined
  /** Makes the ids of new conversations. */
  readonly newId?: (() => string) | undefined
  readonly model?: ChatModel | undefined
  /** What `/tools` tells. */
  readonly tools?: readonly ToolWords[] | undefined
  /** What to know of them, told at the beginning. */
  readonly notices?: readonly string[] | undefined
  /** Where what was said is kept, to be said again; nowhere if absent. */
  readonly historyFile?: string | undefined
  /** How to go on with a conversation, told when it is left; `millrace --thread ID` if absent. */
  readonly resumeHint?: ((threadId: string) => string) | undefined
  /** Hands over a function to tell of what goes wrong in the background, so that it does not spoil the screen. */
  readonly onListen?: ((tell: (problem: unknown) => void) => void) | undefined
  /** Gives lines on the runs there were since it was last asked, to be shown below the latest one. */
  readonly asides?: (() => readonly string[]) | undefined
  readonly input?: ReadStream | undefined
  readonly output?: WriteStream | undefined
}

const table: OptionTable<ChatOptions> = {
  app: anObject,
  thread: someText,
  agent: someText,
  newId: aFunction,
  model: anObject,
  tools: (value) => !Array.isArray(value) && 'must be a list of tools',
  notices: anything,
  historyFile: someText,
  resumeHint: aFunction,
  onListen: aFunction,
  asides: aFunction,
  input: anything,
  output: anything,
}

/**
 * Talks with the person at a terminal until they leave. Gives the exit code: 0, 1 if the log could not be read any more, 143
 * or 129 if it was told to end by a signal. Others may talk in the same conversation, here or elsewhere: everybody sees all of it.
 */
export async function chat(options: ChatOptions): Promise<number> {
  checkOptions({ ...options, app: options.app ?? null }, table, { op: 'chat', what: 'the option' })
  const { app, agent, newId, model, tools = [], historyFile } = options
  const { input = process.stdin, output = process.stdout } = options
  const { resumeHint = (id) => `to go on: millrace --thread ${id}` } = options

  const ending = Promise.withResolvers<number>()
  const leave = (code = 0) => ending.resolve(code)
  const inOrder = oneByOne((error) => front.note(messageOf(error), 'problem'))
  const atOnce = oneByOne((error) => front.note(messageOf(error), 'problem'))
  const person: Person = {
    say: (text) => inOrder(() => (isCommand(text) ? command(text) : session.say(text.trim()))),
    stop: () => atOnce(() => session.stop()),
    leave: () => leave(),
  }
  const command = (text: string) => {
    front.echo(text.trim())
    return runCommand(text, context)
  }
  const newThread = (id = newId?.()) => app.thread(id, { agent })
  const session = openSession({
    app,
    newThread: () => newThread(),
    front: () => front,
    onEnd(error) {
      if (error !== undefined) front.note(messageOf(error), 'problem')
      leave(error === undefined ? 0 : 1)
    },
  })
  const first = newThread(options.thread)

  const front = withAsides(openFront({ input, output, historyFile, person }), options.asides)
  const context: CommandContext = { session, front, model, tools, listed: [], leave: () => leave() }
  const forget = onSignals(leave)
  try {
    options.onListen?.((problem) => front.note(messageOf(problem), 'problem'))
    for (const notice of options.notices ?? []) front.note(cleanLine(notice), 'problem')
    front.note([agent ?? app.agents[0], model?.name(), '/help'].filter(Boolean).join(' · '), 'dim')
    inOrder(() => session.open(first))
    return await ending.promise
  } finally {
    session.close()
    front.close()
    forget()
    if (session.exists) output.write(`${cleanLine(resumeHint(session.thread.id))}\n`)
  }
}

function openFront(options: {
  input: ReadStream
  output: WriteStream
  historyFile: string | undefined
  person: Person
}): Front {
  const { input, output, historyFile, person } = options
  if (process.env.TERM === 'dumb' || !input.isTTY || !output.isTTY)
    return lineFront({ input, output, person })
  const colour = wantsColor(output)
  return screenFront({ input, output, colour, history: openHistory(historyFile), person })
}

/** They are known before the last words of their run are shown, and would stand above them. */
function withAsides(front: Front, asides: ChatOptions['asides']): Front {
  if (!asides) return front
  return {
    ...front,
    tell(entry) {
      front.tell(entry)
      if (entry.event.type === 'run-end') for (const line of asides()) front.note(line, 'dim')
    },
  }
}

/** Does one thing after the other, in the order in which they were asked for. */
function oneByOne(onError: (error: unknown) => void): (act: () => Promise<void> | void) => void {
  let last = Promise.resolve()
  return (act) => {
    last = last.then(act).catch(onError)
  }
}

const signals = { SIGTERM: 143, SIGHUP: 129 } as const

function onSignals(leave: (code: number) => void): () => void {
  const hear = (signal: NodeJS.Signals) => leave(signals[signal as keyof typeof signals])
  const names = Object.keys(signals) as NodeJS.Signals[]
  for (const name of names) process.on(name, hear)
  return () => {
    for (const name of names) process.off(name, hear)
  }
}
