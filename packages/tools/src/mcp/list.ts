import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isObject } from 'millrace/internal'
import type { Client, ServerTool } from './sdk.ts'

/** All tools of a server, at most 10,000; the SDK reads at most 100 pages. */
export async function listTools(client: Client, timeoutMs: number): Promise<readonly ServerTool[]> {
  // Otherwise the SDK would warn on the console.
  if (!client.getServerCapabilities()?.tools) return []
  const timeout = { timeout: timeoutMs }
  try {
    const { tools } = await client.listTools(undefined, { ...timeout, cacheMode: 'refresh' })
    return tools.slice(0, maxTools)
  } catch (error) {
    // The SDK rejects the whole list if one tool violates the specification.
    if ((error as { code?: unknown }).code !== 'INVALID_RESULT') throw error
    return listLoosely(client, timeout)
  }
}

const maxTools = 10_000
const maxPages = 100

async function listLoosely(client: Client, timeout: { timeout: number }): Promise<readonly ServerTool[]> {
  const found: ServerTool[] = []
  let cursor: string | undefined
  for (let page = 1; page <= maxPages; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const { tools, nextCursor } = await client.request({ method: 'tools/list', params }, looseList, timeout)
    found.push(...tools)
    if (nextCursor === undefined || found.length >= maxTools) return found.slice(0, maxTools)
    cursor = nextCursor
  }
  throw new Error(`the list of tools has more than ${maxPages} pages`)
}

interface LooseList {
  readonly tools: readonly ServerTool[]
  readonly nextCursor: string | undefined
}

/** Accepts every tool with a name, and its fields that have the right type. */
const looseList: StandardSchemaV1<unknown, LooseList> = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate(value) {
      if (!isObject(value) || !Array.isArray(value.tools))
        return { issues: [{ message: 'has no list of tools' }] }
      const { nextCursor } = value
      return {
        value: {
          tools: value.tools.flatMap(toTool),
          nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined,
        },
      }
    },
  },
}

function toTool(given: unknown): ServerTool[] {
  if (!isObject(given) || typeof given.name !== 'string') return []
  const { name, title, description, inputSchema, annotations, execution } = given
  const definition = {
    name,
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    ...(isObject(annotations) && { annotations }),
    ...(isObject(execution) && { execution }),
    inputSchema,
  }
  return [definition as ServerTool]
}
