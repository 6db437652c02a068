import type { ReadStream, WriteStream } from 'node:tty'
import { painter, screenOn, style } from '../terminal/index.ts'
import { completeCommand } from './commands.ts'
import type { ConversationView } from './conversation-view.ts'
import { conversationView } from './conversation-view.ts'
import { continued, edit, emptyDraft, filled, moveLine } from './editor.ts'
import type { Front, Person, Status } from './front.ts'
import { atRest } from './front.ts'
import type { History } from './history.ts'
import { recallFrom } from './history.ts'
import type { Keyboard } from './keyboard.ts'
import { openKeyboard } from './keyboard.ts'
import type { Key } from './keys.ts'
import { promptRows } from './prompt.ts'

export interface ScreenFrontOptions {
  readonly input: ReadStream
  readonly output: WriteStream
  readonly colour: boolean
  readonly history: History
  readonly person: Person
}

/** What comes in less time is drawn at once; keys always are. */
const frameMs = 16
/** What changes by itself is drawn so often. */
const tickMs = 100

const esc = String.fromCharCode(27)
const bracketedPaste = { on: `${esc}[?2004h`, off: `${esc}[?2004l` }

const looks = { plain: style.plain, dim: style.dim, problem: style.red } as const

/** The conversation above, and below it a place to write that stays where it is while the answer comes. */
export function screenFront({ input, output, colour, history, person }: ScreenFrontOptions): Front {
  const screen = screenOn(output)
  const paint = painter(colour)
  const newView = (): ConversationView => conversationView({ width: () => screen.width, colour })
  const recalled = recallFrom(history)
  let view = newView()
  let status: Status = atRest
  let draft = emptyDraft
  /** What was being written when a question came up. */
  let aside = ''
  let keyboard: Keyboard | undefined
  let frame: NodeJS.Timeout | undefined
  let ticking: NodeJS.Timeout | undefined

  function draw() {
    clearTimeout(frame)
    frame = undefined
    if (!keyboard) return
    const live = view.live(Date.now())
    const above = live.length > 0 || !view.spaced ? [...live, ''] : []
    const most = Math.max(3, Math.floor(screen.height / 2))
    const { rows, cursor } = promptRows({ draft, status, width: screen.width, most, paint })
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

  function take() {
    keyboard = openKeyboard(input, { onKey: press, onEnd: () => person.leave() })
    output.write(bracketedPaste.on)
  }

  function giveBack() {
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
        if (status.busy) person.stop()
        break
      case 'interrupt':
        return interrupt()
      case 'end-of-input':
        if (!draft.text) return person.leave()
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
        if (next.text !== draft.text) recalled.reset()
        draft = next
      }
    }
    draw()
  }

  function recall(direction: 'up' | 'down') {
    const text = direction === 'up' ? recalled.back(draft.text) : recalled.forth()
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
    // A yes or no is nothing to say again.
    if (!status.question || text.startsWith('/')) history.add(text)
    recalled.reset()
    draft = filled('', draft)
    person.say(text)
  }

  function interrupt() {
    if (status.busy && !status.stopping) return person.stop()
    if (!draft.text || status.stopping) return person.leave()
    draft = filled('', draft)
    recalled.reset()
    draw()
  }

  /** Ctrl-Z: back to the shell until it says `fg`. Where there is no such shell, nothing happens. */
  function suspend() {
    if (process.platform === 'win32') return
    screen.clear()
    giveBack()
    process.kill(process.pid, 'SIGTSTP')
    take()
    draw()
  }

  function setAside(next: Status) {
    if (next.question && !status.question) {
      aside = draft.text
      draft = filled('', draft)
    } else if (!next.question && status.question) {
      if (!draft.text) draft = filled(aside, draft)
      aside = ''
    }
  }

  function close() {
    if (!keyboard) return
    screen.show([...view.take(), ...view.live(Date.now())], [])
    screen.close()
    giveBack()
    output.off('resize', resized)
    process.off('exit', close)
    process.off('SIGINT', interrupt)
  }

  take()
  output.on('resize', resized)
  // The window is gone, most likely. It stays heard: to give that back, or to write to it, fails as well.
  for (const stream of [input, output]) stream.on('error', () => person.leave())
  process.on('exit', close)
  process.on('SIGINT', interrupt)
  draw()

  return {
    recall(entries, earlier) {
      for (const entry of entries) view.tell(entry)
      const rows = view.take()
      const most = Math.max(20, screen.height * 2)
      const shown = rows.slice(-most)
      const more = earlier || shown.length < rows.length
      if (more) view.note('… there is more before this: /export writes it all', style.dim)
      screen.show([...view.take(), ...shown], [])
      draw()
    },
    tell(entry) {
      view.tell(entry)
      drawSoon()
    },
    update(next) {
      setAside(next)
      status = next
      drawSoon()
    },
    echo(text) {
      view.echo(text)
      drawSoon()
    },
    note(text, kind = 'plain') {
      view.note(text, looks[kind])
      drawSoon()
    },
    suggest(text) {
      draft = filled(text, draft)
      drawSoon()
    },
    begin() {
      // What was shown of the one before stays as it is.
      screen.show([...view.take(), ...view.live(Date.now())], [])
      view = newView()
      drawSoon()
    },
    close,
  }
}
