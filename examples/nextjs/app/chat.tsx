'use client'

import { type UIMessage, useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import type { FormEvent } from 'react'

interface ChatProps {
  /** The route that answers. */
  readonly api: string
  /** The id and messages of a conversation that is stored. */
  readonly id?: string
  readonly stored?: UIMessage[]
}

export function Chat({ api, id, stored }: ChatProps) {
  const chat = useChat({
    ...(id && { id }),
    ...(stored && { messages: stored, resume: true }),
    transport: new DefaultChatTransport({ api }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const { messages, sendMessage, regenerate, stop, status, error, addToolApprovalResponse } = chat
  const isBusy = status === 'submitted' || status === 'streaming'

  function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const text = String(new FormData(form).get('text'))
    form.reset()
    void sendMessage({ text })
  }

  function partOf(part: UIMessage['parts'][number], key: number) {
    if (part.type === 'text') return <span key={key}>{part.text}</span>
    if (part.type !== 'dynamic-tool') return null
    const { toolName, state, approval } = part
    return (
      <div key={key}>
        <code>{toolName}</code> {state}
        {state === 'approval-requested' &&
          [true, false].map((approved) => (
            <button
              key={String(approved)}
              type="button"
              onClick={() => addToolApprovalResponse({ id: approval.id, approved })}
            >
              {approved ? 'Approve' : 'Deny'}
            </button>
          ))}
      </div>
    )
  }

  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <section key={id} aria-label={role}>
          <b>{role}</b> {parts.map(partOf)}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input name="text" placeholder="Where is ORD-42?" required />
        <button type="submit">Send</button>
        <button type="button" onClick={() => stop()} disabled={!isBusy}>
          Stop
        </button>
        <button type="button" onClick={() => regenerate()} disabled={isBusy || messages.length === 0}>
          Try again
        </button>
      </form>
    </main>
  )
}
