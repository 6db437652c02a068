import type { Signal } from '@preact/signals'
import { useComputed } from '@preact/signals'
import type { RemoteThread } from 'millrace/client'
import { statusOf } from 'millrace/view'
import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../api.ts'
import { IconButton } from '../icon-button.tsx'
import { Icon } from '../icons.tsx'
import { useAction, useShortcut } from '../keyboard.ts'
import type { Session } from '../session.ts'
import { currentSentence, silence } from '../voice/voice.ts'
import { VoiceButtons } from '../voice/voice-buttons.tsx'
import './composer.css'
import { stop } from './actions.ts'
import { chooseModel, requestFor, useAgent } from './agents.ts'
import { Attachments } from './attachments.tsx'
import { openAndFocus, shouldFocusComposer } from './composer-focus.ts'
import type { Draft } from './draft.ts'
import { emptyDraft, isEmpty, messageOf } from './draft.ts'
import { imageTypes } from './image.ts'
import { startedHere } from './live-region.tsx'
import { ModelSelect } from './model-select.tsx'
import type { Mode } from './strings.ts'
import { modes } from './strings.ts'
import { useDraft } from './use-draft.ts'
import { useStopKeys } from './use-stop-keys.ts'

export interface ComposerProps {
  /** Absent on the page for a new thread, which the first message creates. */
  readonly session: Session | undefined
  /** The agent of the new thread; empty for the server's default. */
  readonly agent: Signal<string>
  /** A message to send, from a starter prompt. */
  readonly start: Signal<string | undefined>
  /** The conversation follows what the user sends. */
  readonly onSend: () => void
}

/** The message box. A message that could not be sent stays there, with the reason. */
export function Composer({ session, agent, start, onSend }: ComposerProps) {
  const { draft, problem, change, attach } = useDraft(session?.thread.id ?? 'new')
  const [mode, setMode] = useState<Mode>('steer')
  const [busy, setBusy] = useState(false)
  const box = useRef<HTMLTextAreaElement>(null)
  const files = useRef<HTMLInputElement>(null)
  const created = useRef<RemoteThread>(undefined)
  const lastAttempt = useRef<{ readonly draft: Draft; readonly key: string }>(undefined)
  const running = useComputed(() => (isRunOpen(session) ? session : undefined)).value
  const isGone = session?.connection.value === 'gone'
  const { text, attachments } = draft.value
  const cannotSend = busy || isEmpty(draft.value)
  const info = useAgent(session, agent.value)

  useEffect(() => {
    if (shouldFocusComposer({ isNew: session === undefined })) box.current?.focus()
  }, [session])
  useShortcut({ keys: '/', label: 'Focus the message box', run: () => box.current?.focus() })
  useAction({
    id: 'attach',
    label: 'Attach an image',
    isAvailable: () => !isGone,
    run: () => files.current?.click(),
  })
  useStopKeys(running)

  useEffect(() => {
    const { value: message } = start
    start.value = undefined
    if (message !== undefined) void send({ ...emptyDraft, text: message })
  }, [start.value])

  async function send(what: Draft = draft.value) {
    if (busy || isEmpty(what)) return
    setBusy(true)
    onSend()
    try {
      created.current ??= session?.thread ?? (await api.create(agent.value ? { agent: agent.value } : {}))
      // If only the response was lost, sending the same draft again must not send it twice.
      if (lastAttempt.current?.draft !== what)
        lastAttempt.current = { draft: what, key: crypto.getRandomValues(new Uint32Array(4)).join('-') }
      const request = requestFor(session, info)
      await created.current.send(messageOf(what), {
        key: lastAttempt.current.key,
        ...(running && { mode }),
        ...request,
      })
      if (draft.value === what) change(emptyDraft)
      if (session) return
      if (request?.request.model) chooseModel(created.current.id, request.request.model)
      startedHere.add(created.current.id)
      openAndFocus(created.current.id)
    } catch (error) {
      if (isEmpty(draft.value)) change(what)
      problem.value = `Not sent: ${(error as Error).message}`
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

  /** Attaches pasted or dropped files. The browser handles anything else. */
  function attachFrom(event: Event, given: DataTransfer | null) {
    if (!given?.files.length) return
    event.preventDefault()
    void attach(given.files)
  }

  return (
    <fieldset
      class="chat-composer"
      disabled={isGone}
      onPaste={(event) => attachFrom(event, event.clipboardData)}
      onDrop={(event) => attachFrom(event, event.dataTransfer)}
      onDragOver={(event) => event.preventDefault()}
    >
      <Attachments attachments={attachments} onChange={(left) => change({ attachments: left })} />
      <textarea
        ref={box}
        rows={text.split('\n').length}
        dir="auto"
        enterkeyhint="send"
        aria-label="Message"
        placeholder={isGone ? '' : 'Send a message'}
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
        {!running && <ModelSelect agent={info} session={session} />}
        {running && (
          <select
            aria-label="Message mode"
            title={modes[mode].hint}
            value={mode}
            onChange={({ currentTarget }) => setMode(currentTarget.value as Mode)}
          >
            {Object.entries(modes).map(([name, { label, hint }]) => (
              <option key={name} value={name} title={hint}>
                {label}
              </option>
            ))}
          </select>
        )}
        {(running || currentSentence.value) && (
          <button
            type="button"
            onClick={() => {
              // The button disappears with the run. Focusing the message box instead would open the
              // keyboard of a phone.
              document.getElementById('chat')?.focus()
              silence()
              if (running) void stop(running)
            }}
          >
            <Icon name="stop" /> <span>Stop</span>
          </button>
        )}
        <button type="button" class="primary" disabled={cannotSend} onClick={() => void send()}>
          <Icon name="send" /> <span>Send</span>
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

/** Whether a run is active or waits for a user, so that it can be stopped or steered. */
function isRunOpen(session: Session | undefined): boolean {
  if (!session || session.tick.value < 0) return false
  const status = statusOf(session.log)
  return status === 'running' || status === 'waiting'
}
