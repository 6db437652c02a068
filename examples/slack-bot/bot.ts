import { Hono } from 'hono'
import { type Agent, millrace, type Thread, type ThreadStore, textOf } from 'millrace'
import { watch } from 'millrace/client'
import type { Slack } from './slack.ts'

/** Where a thread is shown: the metadata of the thread. */
interface Place {
  readonly channel: string
  readonly thread_ts: string
}

interface MessageEvent {
  readonly type: string
  readonly channel: string
  readonly text?: string
  readonly ts: string
  readonly thread_ts?: string
  readonly bot_id?: string
}

/** One Slack thread is one thread of the agent. Answers are edited into a message as they are generated. */
export function slackBot(slack: Slack, agent: Agent, store: ThreadStore) {
  const app = millrace({ agents: agent, store })
  const shown = new Set<string>()
  const closing = new AbortController()

  async function receive(eventId: string, { channel, text = '', ts, thread_ts = ts }: MessageEvent) {
    const id = `slack-${channel}-${thread_ts}`
    const thread = app.thread(id, { metadata: { channel, thread_ts } })
    // Slack sends an event again if it gets no response within 3 seconds. The key makes it one message.
    await thread.send(text.replace(/<@\w+>\s*/g, ''), { key: eventId })
    show(id, thread, { channel, thread_ts })
  }

  /** Starts to show a thread in Slack, if this process does not yet. */
  function show(id: string, thread: Thread, place: Place) {
    if (shown.has(id)) return
    shown.add(id)
    mirror(thread, place).catch((error: unknown) => {
      shown.delete(id)
      console.error(error)
    })
  }

  /** Each update waits for Slack, and `watch` then yields only the latest state: no timer is needed. */
  async function mirror(thread: Thread, place: Place) {
    const asked = new Set<string>()
    let question = -1
    let message: { ts: string; text: string } | undefined
    for await (const { messages, approvals } of watch(thread, { signal: closing.signal })) {
      const latest = messages.findLastIndex(({ role }) => role === 'user')
      if (latest !== question) message = undefined
      question = latest
      const last = messages.at(-1)
      const text = last?.role === 'assistant' ? textOf(last) : ''
      if (text && !message) {
        message = { ts: (await slack.call('chat.postMessage', { ...place, text })).ts, text }
      } else if (text && message && text !== message.text) {
        message.text = text
        await slack.call('chat.update', { channel: place.channel, ts: message.ts, text })
      }
      for (const { callId, name, reason } of approvals.filter(({ callId }) => !asked.has(callId))) {
        asked.add(callId)
        message = undefined
        const buttons = approvalButtons(thread.id, callId, reason ?? `Run ${name}?`)
        await slack.call('chat.postMessage', { ...place, ...buttons })
      }
    }
  }

  const routes = new Hono()
  routes.use(async (context, next) => {
    const body = await context.req.text()
    if (!slack.isGenuine(context.req.raw.headers, body)) return context.text('not from Slack', 401)
    return next()
  })

  routes.post('/slack/events', async (context) => {
    const body = (await context.req.json()) as {
      type: string
      challenge?: string
      event_id: string
      event: MessageEvent
    }
    if (body.type === 'url_verification') return context.text(body.challenge ?? '')
    const { event } = body
    if ((event.type === 'app_mention' || event.type === 'message') && !event.bot_id)
      await receive(body.event_id, event)
    return context.body(null, 200)
  })

  routes.post('/slack/interactions', async (context) => {
    const form = new URLSearchParams(await context.req.text())
    const { actions, channel, message, user } = JSON.parse(form.get('payload') ?? '{}')
    const { threadId, callId, approved } = JSON.parse(actions[0].value)
    const thread = app.thread(threadId)
    await thread.approve(callId, { approved, ...(!approved && { reason: 'Denied in Slack.' }) })
    const text = `${approved ? 'Allowed' : 'Denied'} by <@${user.id}>: ${message.text}`
    await slack.call('chat.update', { channel: channel.id, ts: message.ts, text, blocks: [] })
    show(threadId, thread, { channel: channel.id, thread_ts: message.thread_ts })
    return context.body(null, 200)
  })

  /** Shows what earlier processes left unfinished. */
  async function resume() {
    for (const status of ['queued', 'running'] as const)
      for (const { id, metadata } of (await app.threads({ status })).threads)
        show(id, app.thread(id), metadata as unknown as Place)
  }

  async function close() {
    closing.abort()
    await app.close()
  }

  return { fetch: routes.fetch, resume, close }
}

/** https://docs.slack.dev/block-kit */
function approvalButtons(threadId: string, callId: string, text: string) {
  const button = (label: string, style: string, approved: boolean) => ({
    type: 'button',
    action_id: label,
    style,
    text: { type: 'plain_text', text: label },
    value: JSON.stringify({ threadId, callId, approved }),
  })
  return {
    text,
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text } },
      { type: 'actions', elements: [button('Allow', 'primary', true), button('Deny', 'danger', false)] },
    ],
  }
}
