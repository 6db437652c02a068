import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

/** What a handler of either SDK gets, as far as it is used here. */
export interface Call {
  readonly signal: AbortSignal
  readonly token: string | number | undefined
  notify(notification: { method: string; params: Record<string, unknown> }): Promise<void>
}

interface Answer {
  [key: string]: unknown
  content: ({ type: 'text'; text: string } | { type: 'image' | 'audio'; data: string; mimeType: string })[]
  structuredContent?: Record<string, unknown>
  isError?: boolean
}

export interface Offered {
  readonly config: Record<string, unknown> & { description: string }
  readonly run: (input: never, call: Call) => Answer | Promise<Answer>
}

export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const text = (said: string): Answer => ({ content: [{ type: 'text', text: said }] })
const seen = { started: 0, canceled: 0 }

/** The tools of every server in these tests, in terms that both SDKs share. */
export const offered: Record<string, Offered> = {
  echo: {
    config: {
      description: 'Says it again',
      inputSchema: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true },
    },
    run: (({ text: said }: { text: string }) => text(`echo ${said}`)) as Offered['run'],
  },
  picture: {
    config: { description: 'One pixel, and a sound', inputSchema: z.object({}) },
    run: () => ({
      content: [
        { type: 'text', text: 'a pixel' },
        { type: 'image', data: png, mimeType: 'image/png' },
        { type: 'audio', data: 'A'.repeat(4096), mimeType: 'audio/wav' },
      ],
    }),
  },
  weather: {
    config: {
      description: 'Structured',
      inputSchema: z.object({}),
      outputSchema: z.object({ degrees: z.number() }),
    },
    run: () => ({ content: [{ type: 'text', text: '{"degrees":21}' }], structuredContent: { degrees: 21 } }),
  },
  bare: {
    config: {
      description: 'Structured, and not in words',
      inputSchema: z.object({}),
      outputSchema: z.object({ degrees: z.number() }),
    },
    run: () => ({ content: [], structuredContent: { degrees: 7 } }),
  },
  fail: {
    config: { description: 'Fails', inputSchema: z.object({}) },
    run: () => ({ ...text('there is no such city'), isError: true }),
  },
  count: {
    config: { description: 'Counts with progress', inputSchema: z.object({ to: z.number() }) },
    run: (async ({ to }: { to: number }, { token, notify }: Call) => {
      for (let progress = 1; progress <= to; progress++)
        if (token !== undefined)
          await notify({
            method: 'notifications/progress',
            params: { progressToken: token, progress, total: to, message: `step ${progress}` },
          })
      return text(`counted to ${to}`)
    }) as Offered['run'],
  },
  wait: {
    config: { description: 'Waits until it is canceled', inputSchema: z.object({}) },
    run: async (_, { signal }) => {
      seen.started++
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      seen.canceled++
      return text('canceled')
    },
  },
  seen: {
    config: { description: 'What the server has seen', inputSchema: z.object({}) },
    run: () => text(JSON.stringify({ ...seen, pid: process.pid, cwd: process.cwd(), env: process.env })),
  },
}

let hasGrown = false

/**
 * Adds a tool that adds another one. Outlives a single request, for which the new SDK creates a
 * server each time.
 */
export function growing(add: (name: string, tool: Offered) => void, announce = () => {}) {
  const late: Offered = {
    config: { description: 'Came later', inputSchema: z.object({}) },
    run: () => text('I am new'),
  }
  if (hasGrown) add('late', late)
  add('grow', {
    config: { description: 'Adds a tool', inputSchema: z.object({}) },
    run: () => {
      if (!hasGrown) add('late', late)
      hasGrown = true
      announce()
      return text('grown')
    },
  })
}

/** Serves HTTP and writes the port to stdout. */
export function listen(
  port: string | undefined,
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>,
) {
  const server = createServer((request, response) => {
    handle(request, response).catch((error) => response.writeHead(500).end(String(error)))
  })
  server.listen(Number(port ?? 0), '127.0.0.1', () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
  })
}
