import type { Frames, HttpError, Protocol, RouteContext } from './index.ts'
import { httpError } from './index.ts'

/**
 * A thread as plain text, using only the public exports: `POST /plain/:id` sends a message and
 * streams the answer, `GET /plain/:id?after=n` streams all answers after the first n characters.
 */
export function plainText({ bodyBytes = 1000 } = {}): Protocol {
  return {
    name: 'plain-text',
    mount: () => ({
      prefixes: ['/plain'],
      error: plainError,
      routes: [
        { method: 'GET', path: '/plain/:id', handle: follow },
        { method: 'POST', path: '/plain/:id', bodyBytes, handle: say },
      ],
    }),
  }
}

async function follow(context: RouteContext): Promise<Response> {
  const { thread } = await context.caller.getThread(context.params.id as string)
  const after = Number(new URL(context.request.url).searchParams.get('after') ?? 0)
  if (!(after >= 0)) throw httpError(400, 'invalid_input', 'after must be a number of characters')
  return context.openStream().follow(thread, { until: 'idle' }, textFrames(after))
}

async function say(context: RouteContext): Promise<Response> {
  const { thread } = await context.caller.getThread(context.params.id as string)
  const text = new TextDecoder().decode(await context.readBody())
  const stream = context.openStream()
  const seq = await thread.send(text)
  return stream.follow(thread, { after: seq - 1, until: seq }, textFrames(0))
}

/**
 * The boundaries of deltas may change, but not their concatenation, so a character offset is exact.
 */
function textFrames(after: number): Frames {
  let left = after
  return {
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    entry({ event }) {
      if (event.type !== 'text') return undefined
      const skipped = Math.min(left, event.text.length)
      left -= skipped
      return event.text.slice(skipped)
    },
    fail: ({ code }) => `\n[${code}]\n`,
  }
}

function plainError({ status, code, message }: HttpError): Response {
  return new Response(`${code}: ${message}\n`, { status })
}
