import type { ReadStream, WriteStream } from 'node:tty'
import { painter, screenOn, style } from '../terminal/index.ts'
import { completeCommand } from './commands.ts'
import type { ConversationView } from './conversation-view.ts'
import { conversationView } from './conversation-view.ts'
import { continued, edit, emptyDraft, filled, moveLine } from './editor.ts'
import type { History } from './history.ts'
import { historyCursor } from './history.ts'
import type { Keyboard } from './keyboard.ts'
import { openKeyboard } from './keyboard.ts'
import type { Key } from './keys.ts'
import { promptRows } from './prompt.ts'
import type { ChatUi, Status, UserActions } from './ui.ts'
import { idleStatus } from './ui.ts'

export interface ScreenUiOptions {
  readonly input: ReadStream
  readonly output: WriteStream
  readonly color: boolean
  readonly history: History
  readonly user: UserActions
}

/** Changes within this time are drawn together. Keys are drawn at once. */
const frameMs = 16
/** How often spinners and timers are redrawn. */
const tickMs = 100

const esc = String.fromCharCode(27)
const bracketedPaste = { on: `${esc}[?2004h`, off: `${esc}[?2004l` }

const noteStyles = { plain: style.plain, dim: style.dim, problem: style.red } as const

/** The conversation, with an input line below it that stays in place while an answer streams. */
export function screenUi({ input, output, color, history, user }: ScreenUiOptions): ChatUi {
  const screen = screenOn(output)
  const paint = painter(color)
  const newView = (): ConversationView => conversationView({ width: () => screen.width, color })
  const historyPosition = historyCursor(history)
  let view = newView()
  let status: Status = idleStatus
  let draft = emptyDraft
  /** The draft when an approval request came up. */
  let stashedText = ''
  let keyboard: Keyboard | undefined
  let frame: NodeJS.Timeout | undefined
  let ticking: NodeJS.Timeout | undefined

  function draw() {
    clearTimeout(frame)
    frame = undefined
    if (!keyboard) return
    const live = view.live(Date.now())
    const above = live.length > 0 || !view.spaced ? [...live, ''] : []
    const maxDraftRows = Math.max(3, Math.floor(screen.height / 2))
    const { rows, cursor } = promptRows({ draft, status, width: screen.width, maxDraftRows, paint })
    screen.show(view.take(), [...above, ...rows], { ...cursor, row: above.length + cursor.row })
    clearTimeout(ticking)
    ticking = view.ticking ? setTimeout(draw, tickMs) : undefined
  }

  function drawSoon() {
    if (keyboard) frame ??= setTimeout(draw, frameMs)
  }

  function resized() {
    screen.clear()
    draw()
  }

  function takeTerminal() {
    keyboard = openKeyboard(input, { onKey: press, onEnd: () => user.leave() })
    output.write(bracketedPaste.on)
  }

  function releaseTerminal() {
    clearTimeout(frame)
    clearTimeout(ticking)
    frame = undefined
    keyboard?.close()
    keyboard = undefined
    output.write(bracketedPaste.off)
  }

  function press(key: Key) {
    switch (key.type) {
      case 'enter':
        enter()
        break
      case 'tab':
        draft = draft.cursor === draft.text.length ? filled(completeCommand(draft.text), draft) : draft
        break
      case 'escape':
        if (status.busy) user.stop()
        break
      case 'interrupt':
        return interrupt()
      case 'end-of-input':
        if (!draft.text) return user.leave()
        draft = edit(draft, key)
        break
      case 'suspend':
        return suspend()
      case 'redraw':
        return resized()
      case 'up':
      case 'down':
        draft = moveLine(draft, key.type) ?? recall(key.type)
        break
      default: {
        const next = edit(draft, key)
        if (next.text !== draft.text) historyPosition.reset()
        draft = next
      }
    }
    draw()
  }

  function recall(direction: 'up' | 'down') {
    const text = direction === 'up' ? historyPosition.previous(draft.text) : historyPosition.next()
    return text === undefined ? draft : filled(text, draft)
  }

  function enter() {
    const another = continued(draft)
    if (another) {
      draft = another
      return
    }
    const { text } = draft
    if (!text.trim()) return
    // Answers to approval requests are not part of the history.
    if (!status.approval || text.startsWith('/')) history.add(text)
    historyPosition.reset()
    draft = filled('', draft)
    user.send(text)
  }

  function interrupt() {
    if (status.busy && !status.stopping) return user.stop()
    if (!draft.text || status.stopping) return user.leave()
    draft = filled('', draft)
    historyPosition.reset()
    draw()
  }

  /** Ctrl-Z: returns to the shell until `fg`. Windows has no job control. */
  function suspend() {
    if (process.platform === 'win32') return
    screen.clear()
    releaseTerminal()
    process.kill(process.pid, 'SIGTSTP')
    takeTerminal()
    draw()
  }

  function stashDraft(next: Status) {
    if (next.approval && !status.approval) {
      stashedText = draft.text
      draft = filled('', draft)
    } else if (!next.approval && status.approval) {
      if (!draft.text) draft = filled(stashedText, draft)
      stashedText = ''
    }
  }

  function close() {
    if (!keyboard) return
    screen.show([...view.take(), ...view.live(Date.now())], [])
    screen.close()
    releaseTerminal()
    output.off('resize', resized)
    process.off('exit', close)
    process.off('SIGINT', interrupt)
  }

  takeTerminal()
  output.on('resize', resized)
  // Most likely the window was closed. Never removed: restoring the terminal and later writes fail too.
  for (const stream of [input, output]) stream.on('error', () => user.leave())
  process.on('exit', close)
  process.on('SIGINT', interrupt)
  draw()

  return {
    showEarlier(entries, isCut) {
      for (const entry of entries) view.add(entry)
      const rows = view.take()
      const most = Math.max(20, screen.height * 2)
      const shown = rows.slice(-most)
      const more = isCut || shown.length < rows.length
      if (more) view.note('… earlier messages are not shown; /export writes all of them', style.dim)
      screen.show([...view.take(), ...shown], [])
      draw()
    },
    show(entry) {
      view.add(entry)
      drawSoon()
    },
    update(next) {
      stashDraft(next)
      status = next
      drawSoon()
    },
    echo(text) {
      view.echo(text)
      drawSoon()
    },
    note(text, kind = 'plain') {
      view.note(text, noteStyles[kind])
      drawSoon()
    },
    suggest(text) {
      draft = filled(text, draft)
      drawSoon()
    },
    startThread() {
      // The rows of the previous thread stay on the screen.
      screen.show([...view.take(), ...view.live(Date.now())], [])
      view = newView()
      drawSoon()
    },
    close,
  }
}
