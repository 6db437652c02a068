import type { Signal } from '@preact/signals'
import { useComputed } from '@preact/signals'
import type { RemoteThread } from 'millrace/client'
import { statusOf } from 'millrace/view'
import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../api.ts'
import { IconButton } from '../icon-button.tsx'
import { Icon } from '../icons.tsx'
import { useShortcut } from '../keyboard.ts'
import type { Session } from '../session.ts'
import { hush, spoken } from '../voice/voice.ts'
import { VoiceButtons } from '../voice/voice-buttons.tsx'
import './composer.css'
import { stop } from './actions.ts'
import { Attachments } from './attachments.tsx'
import type { Draft } from './draft.ts'
import { emptyDraft, isEmpty, messageOf } from './draft.ts'
import { goTo, takesFocus } from './focus-next.ts'
import { imageTypes } from './image.ts'
import { begunHere } from './live-region.tsx'
import type { Mode } from './modes.ts'
import { modes } from './modes.ts'
import { useDraft } from './use-draft.ts'
import { useStopKeys } from './use-stop-keys.ts'

export interface ComposerProps {
  /** Absent on the page of a new thread: the first message makes it. */
  readonly session: Session | undefined
  /** Whose the new thread is to be; empty for the server's first. */
  readonly agent: Signal<string>
}

/** Where a person writes. What cannot be sent stays there, with the reason. */
export function Composer({ session, agent }: ComposerProps) {
  const { draft, problem, change, attach } = useDraft(session?.thread.id ?? 'new')
  const [mode, setMode] = useState<Mode>('steer')
  const [busy, setBusy] = useState(false)
  const box = useRef<HTMLTextAreaElement>(null)
  const files = useRef<HTMLInputElement>(null)
  const made = useRef<RemoteThread>(undefined)
  const tried = useRef<{ readonly draft: Draft; readonly key: string }>(undefined)
  const running = useComputed(() => (isRunOpen(session) ? session : undefined)).value
  const isGone = session?.connection.value === 'gone'
  const { text, attachments } = draft.value
  const cannotSend = busy || isEmpty(draft.value)

  useEffect(() => {
    if (takesFocus({ isNew: session === undefined })) box.current?.focus()
  }, [session])
  useShortcut({ keys: '/', does: 'Goes to the message', run: () => box.current?.focus() })
  useStopKeys(running)

  async function send() {
    if (cannotSend) return
    setBusy(true)
    try {
      made.current ??= session?.thread ?? (await api.create(agent.value ? { agent: agent.value } : {}))
      // The answer may have been lost and not the message: the same, sent once more, is still one.
      if (tried.current?.draft !== draft.value)
        tried.current = { draft: draft.value, key: crypto.getRandomValues(new Uint32Array(4)).join('-') }
      await made.current.send(messageOf(draft.value), { key: tried.current.key, ...(running && { mode }) })
      change(emptyDraft)
      if (session) return
      begunHere.add(made.current.id)
      goTo(made.current.id)
    } catch (error) {
      problem.value = `This was not sent: ${(error as Error).message}`
    } finally {
      setBusy(false)
    }
  }

  function onKeyDown(event: TargetedKeyboardEvent<HTMLTextAreaElement>) {
    if (event.isComposing) return
    if (event.key === 'Escape') box.current?.blur()
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    void send()
  }

  /** Files that are pasted or dropped; anything else is the browser's. */
  function take(event: Event, given: DataTransfer | null) {
    if (!given?.files.length) return
    event.preventDefault()
    void attach(given.files)
  }

  return (
    <fieldset
      class="chat-composer"
      disabled={isGone}
      onPaste={(event) => take(event, event.clipboardData)}
      onDrop={(event) => take(event, event.dataTransfer)}
      onDragOver={(event) => event.preventDefault()}
    >
      <Attachments attachments={attachments} onChange={(left) => change({ attachments: left })} />
      <textarea
        ref={box}
        rows={text.split('\n').length}
        aria-label="Message"
        placeholder={isGone ? 'This thread is gone' : 'Say something'}
        value={text}
        readOnly={busy}
        onInput={({ currentTarget }) => change({ text: currentTarget.value })}
        onKeyDown={onKeyDown}
      />
      <div class="chat-composer-bar">
        <input
          ref={files}
          type="file"
          accept={imageTypes.join()}
          multiple
          hidden
          onChange={({ currentTarget }) => {
            void attach(currentTarget.files ?? [])
            currentTarget.value = ''
          }}
        />
        <IconButton icon="attach" label="Attach an image" onClick={() => files.current?.click()} />
        <VoiceButtons />
        {running && (
          <select
            aria-label="How the message is meant"
            value={mode}
            onChange={({ currentTarget }) => setMode(currentTarget.value as Mode)}
          >
            {Object.entries(modes).map(([name, meaning]) => (
              <option key={name} value={name}>
                {meaning}
              </option>
            ))}
          </select>
        )}
        {(running || spoken.value) && (
          <button
            type="button"
            onClick={() => {
              // The button goes with the run, and the focus should not go with it. The message would bring up a keyboard.
              document.getElementById('chat')?.focus()
              hush()
              if (running) void stop(running)
            }}
          >
            <Icon name="stop" /> Stop
          </button>
        )}
        <button type="button" class="primary" disabled={cannotSend} onClick={() => void send()}>
          <Icon name="send" /> Send
        </button>
      </div>
      {problem.value && (
        <p class="chat-problem" role="alert">
          {problem.value}
        </p>
      )}
    </fieldset>
  )
}

/** It goes on, or waits for a person: there is something to stop, to steer, or to wait for. */
function isRunOpen(session: Session | undefined): boolean {
  if (!session || session.tick.value < 0) return false
  const status = statusOf(session.log)
  return status === 'running' || status === 'waiting'
}
