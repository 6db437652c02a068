'use client'

import { textOf } from 'millrace'
import { client, type RemoteThread, type ThreadSnapshot, watch } from 'millrace/client'
import { type FormEvent, useEffect, useState } from 'react'

export default function Page() {
  const [thread, setThread] = useState<RemoteThread>()
  const [state, setState] = useState<ThreadSnapshot>()

  useEffect(() => {
    const controller = new AbortController()
    void (async () => {
      const created = await client('/api').create()
      setThread(created)
      for await (const next of watch(created, { signal: controller.signal })) setState(next)
    })()
    return () => controller.abort()
  }, [])

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const text = String(new FormData(form).get('text'))
    form.reset()
    await thread?.send(text)
  }

  return (
    <main>
      {state?.messages.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages only grow at the end
        <p key={index}>
          <b>{message.role}</b> {textOf(message)}
        </p>
      ))}
      <form onSubmit={send}>
        <input name="text" placeholder="Where is ORD-42?" disabled={!thread} required />
        <button type="submit">Send</button>
      </form>
    </main>
  )
}
