import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isObject } from 'millrace/internal'
import type { Client, ServerTool } from './sdk.ts'

/** All tools of a server, at most 10,000 of them; the SDK refuses to turn more than 100 pages. */
export async function listTools(client: Client, timeoutMs: number): Promise<readonly ServerTool[]> {
  // The SDK says so on the console.
  if (!client.getServerCapabilities()?.tools) return []
  const timeout = { timeout: timeoutMs }
  try {
    const { tools } = await client.listTools(undefined, { ...timeout, cacheMode: 'refresh' })
    return usable(tools)
  } catch (error) {
    // One tool that is not quite as the specification has it, and the SDK refuses them all.
    if ((error as { code?: unknown }).code !== 'INVALID_RESULT') throw error
    return listLoosely(client, timeout)
  }
}

const mostTools = 10_000
const mostPages = 100

/** Without those that can only be run as a task: that is of 2025-11-25 alone, and the SDK does not do it. */
function usable(tools: readonly ServerTool[]): readonly ServerTool[] {
  return tools.filter(({ execution }) => execution?.taskSupport !== 'required').slice(0, mostTools)
}

async function listLoosely(client: Client, timeout: { timeout: number }): Promise<readonly ServerTool[]> {
  const found: ServerTool[] = []
  let cursor: string | undefined
  for (let page = 1; page <= mostPages; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const { tools, nextCursor } = await client.request({ method: 'tools/list', params }, looseList, timeout)
    found.push(...tools)
    if (nextCursor === undefined || found.length >= mostTools) return usable(found)
    cursor = nextCursor
  }
  throw new Error(`the list of tools has more than ${mostPages} pages`)
}

interface LooseList {
  readonly tools: readonly ServerTool[]
  readonly nextCursor: string | undefined
}

/** Takes every tool that has a name, and of it what is of the right kind. */
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
