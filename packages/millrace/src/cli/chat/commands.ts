import { closest, invalidInput } from '../../protocol/index.ts'
import { jsonOrText } from '../respond.ts'
import { cleanLine } from '../terminal/index.ts'
import { exportThread } from './export.ts'
import type { Session } from './session.ts'
import { listThreads } from './thread-list.ts'
import type { ChatUi } from './ui.ts'

export interface CommandContext {
  readonly session: Session
  readonly ui: ChatUi
  readonly model: ChatModel | undefined
  readonly tools: readonly ToolSummary[]
  /** The ids of the threads that `/threads` listed last, in order. */
  listedIds: readonly string[]
  leave(): void
}

/** The current model, and how to switch to another. */
export interface ChatModel {
  name(): string
  /** Switches to another model. Rejects if it is not available. */
  use?(name: string): Promise<void> | void
}

export interface ToolSummary {
  readonly name: string
  readonly description: string
}

interface Command {
  /** Its arguments, for the help. */
  readonly args?: string
  readonly description: string
  run(context: CommandContext, argument: string): Promise<void> | void
}

const commands: Readonly<Record<string, Command>> = {
  help: {
    description: 'show this help',
    run: ({ ui }) => ui.note(help()),
  },
  model: {
    args: '[name]',
    description: 'show the model, or switch to another',
    run: chooseModel,
  },
  tools: {
    description: "list the agent's tools",
    run({ ui, tools }) {
      const lines = tools.map(({ name, description }) => `${name}: ${cleanLine(description)}`)
      ui.note(lines.length > 0 ? lines.join('\n') : 'the agent has no tools')
    },
  },
  threads: {
    args: '[number]',
    description: 'list earlier threads, or open one',
    run: chooseThread,
  },
  new: {
    description: 'start a new thread',
    async run({ session, ui }) {
      await session.open()
      ui.note('started a new thread', 'dim')
    },
  },
  fork: {
    args: '[n]',
    description: 'continue in a copy; with n, without your last n messages',
    run: fork,
  },
  retry: {
    description: 'answer your last message again',
    async run({ session, ui }) {
      if (!(await session.retry())) ui.note('no answer yet')
    },
  },
  edit: {
    args: '[n]',
    description: 'edit your last message, or the nth last, and continue from there',
    run: edit,
  },
  undo: {
    description: 'restore what the last /retry, /edit or /undo replaced',
    async run({ session, ui }) {
      if (!(await session.undo())) ui.note('nothing to undo')
    },
  },
  respond: {
    args: 'result',
    description: 'give the result of a tool call that a client runs',
    async run({ session, ui }, result) {
      if (!result) return ui.note(respondHelp, 'problem')
      if (!(await session.respond(jsonOrText(result)))) ui.note('no tool call is waiting for a result')
    },
  },
  stop: {
    description: 'stop the answer (or Esc)',
    run: ({ session }) => session.stop(),
  },
  export: {
    args: '[file]',
    description: 'write the thread to a file, as Markdown or .json',
    async run({ session, ui }, file) {
      if (!session.exists) return ui.note('no messages yet')
      ui.note(`written to ${await exportThread(session.thread, file)}`)
    },
  },
  exit: {
    description: 'leave (or Ctrl-D)',
    run: ({ leave }) => leave(),
  },
}

/** What to do while a call waits for a client. */
export const respondHelp = '/respond and a result, as text or JSON, to answer in place of the client'

const keys = [
  'Enter to send · \\ then Enter, Alt-Enter or Ctrl-J for a new line · ↑ ↓ for earlier messages',
  'During an answer: Enter to queue your message · Esc or Ctrl-C to stop',
]

function help(): string {
  const left = Object.entries(commands).map(([name, { args = '' }]) => `/${name} ${args}`.trimEnd())
  const width = Math.max(...left.map((text) => text.length))
  const lines = Object.values(commands).map(
    ({ description }, index) => `${(left[index] ?? '').padEnd(width)}  ${description}`,
  )
  return [...lines, ...keys].join('\n')
}

/** A command is `/word`, with or without arguments. A path or a lone slash is not a command. */
const commandLine = /^\/([a-z]+)(?:\s+(.*))?$/s

export function isCommand(text: string): boolean {
  return commandLine.test(text.trimEnd())
}

/** Runs a command. Throws `invalid_input` if it does not exist. */
export async function runCommand(text: string, context: CommandContext): Promise<void> {
  const [, name = '', argument = ''] = commandLine.exec(text.trimEnd()) ?? []
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) {
    const like = closest(name, Object.keys(commands))
    const hint = like ? `did you mean /${like}?` : '/help lists all commands.'
    throw invalidInput(
      'chat',
      `unknown command /${name}: ${hint} To send it as a message, put a space before it.`,
    )
  }
  await command.run(context, argument.trim())
}

/** The commands that start with a text. */
export function completions(text: string): string[] {
  const names = Object.keys(commands).map((name) => `/${name}`)
  return text.startsWith('/') ? names.filter((name) => name.startsWith(text)) : []
}

/** Completes a command as far as it is unambiguous. */
export function completeCommand(text: string): string {
  const [first, ...others] = completions(text)
  if (first === undefined) return text
  if (others.length === 0) return `${first} `
  let end = text.length
  while (others.every((name) => name[end] !== undefined && name[end] === first[end])) end++
  return first.slice(0, end)
}

async function chooseModel({ ui, model, session }: CommandContext, name: string) {
  const current = model?.name() ?? session.state.run?.model
  if (!name) return ui.note(current ? `model: ${current}` : 'no model has answered yet')
  if (!model?.use) return ui.note('the model cannot be changed here', 'problem')
  await model.use(name)
  ui.note(`switched to ${model.name()}`)
}

async function chooseThread(context: CommandContext, choice: string) {
  const { session, ui } = context
  if (!choice) {
    const { ids, text } = await listThreads(session)
    context.listedIds = ids
    return ui.note(text)
  }
  const id = /^\d+$/.test(choice) ? context.listedIds[Number(choice) - 1] : choice
  if (id === undefined) return ui.note(`no thread number ${choice}; list threads with /threads`, 'problem')
  const thread = session.app.thread(id)
  // Checks that it exists before leaving the current thread.
  await thread.info()
  await session.open(thread)
  ui.note(`opened thread ${id}`, 'dim')
}

async function edit({ session, ui }: CommandContext, argument: string) {
  const { sent } = session
  const back = Number(argument || 1)
  const message = back >= 1 ? sent.at(-back) : undefined
  if (!message)
    return ui.note(sent.length > 0 ? `/edit takes a number from 1 to ${sent.length}` : 'no messages yet')
  await session.rewind(message.seq)
  ui.suggest(message.text)
}

async function fork({ session, ui }: CommandContext, argument: string) {
  if (!session.exists) return ui.note('no messages yet')
  const { thread, sent, state } = session
  const back = argument === '' ? 0 : Number(argument)
  const message = back === 0 ? undefined : sent.at(-back)
  if (!Number.isInteger(back) || back < 0 || (back > 0 && !message))
    return ui.note(
      `/fork takes a number from 1 to ${sent.length}: how many of your last messages to drop`,
      'problem',
    )
  const forked = await thread.fork(message ? message.seq - 1 : state.head)
  await session.open(forked)
  ui.note(`continuing in a copy, thread ${forked.id}`, 'dim')
  if (message) ui.suggest(message.text)
}
