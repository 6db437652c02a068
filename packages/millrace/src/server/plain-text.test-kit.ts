import type { Call, Frames, HttpError, Protocol } from './index.ts'
import { httpError } from './index.ts'

/**
 * A thread as plain text, written against what the package exports: `POST /plain/:id` says something and streams the answer,
 * `GET /plain/:id?after=n` streams all answers after the first n characters.
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

async function follow(call: Call): Promise<Response> {
  const { thread } = await call.caller.getThread(call.params.id as string)
  const after = Number(new URL(call.request.url).searchParams.get('after') ?? 0)
  if (!(after >= 0)) throw httpError(400, 'invalid_input', 'after must be a number of characters')
  return call.openStream().follow(thread, { until: 'idle' }, textFrames(after))
}

async function say(call: Call): Promise<Response> {
  const { thread } = await call.caller.getThread(call.params.id as string)
  const text = new TextDecoder().decode(await call.readBody())
  const stream = call.openStream()
  const seq = await thread.send(text)
  return stream.follow(thread, { after: seq - 1, until: seq }, textFrames(0))
}

/** Where deltas are cut may differ from one time to the next, but not their concatenation: characters are an exact place. */
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
