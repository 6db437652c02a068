import { isObject, replaceInvisible } from 'millrace/internal'
import type { ConnectionOptions } from './connection.ts'
import { fetchJson, reasonOf } from './connection.ts'
import { cardPath, jsonRpc } from './wire.ts'

/** What we use of the card of a remote agent. Its texts are untrusted. */
export interface RemoteCard {
  readonly name: string
  readonly description: string
  /** The URL of its JSON-RPC endpoint. */
  readonly endpoint: string
  readonly hasStreaming: boolean
}

const maxDescriptionChars = 4000

/** Reads the card of the agent at a URL, or the card itself. Rejects with an explanation. */
export async function readCard(
  options: ConnectionOptions,
  { endpoint, signal }: { readonly endpoint: string | undefined; readonly signal: AbortSignal },
): Promise<RemoteCard> {
  const { url } = options
  const cardUrl = url.endsWith('.json') ? url : new URL(cardPath, url.replace(/\/*$/, '/')).href
  const fail = (why: string): never => {
    throw new Error(`cannot read the agent card at ${cardUrl}: ${why}`)
  }
  const card = await fetchJson({ ...options, url: cardUrl }, signal).catch((error) => fail(reasonOf(error)))
  if (!isObject(card)) return fail('it is not an object')
  const { name, supportedInterfaces, capabilities } = card
  if (typeof name !== 'string' || !name) return fail('it has no name')
  if (!Array.isArray(supportedInterfaces))
    return fail('it has no supportedInterfaces: only version 1.0 of A2A is supported')
  const found = supportedInterfaces
    .filter(isObject)
    .find(
      ({ protocolBinding, protocolVersion }) =>
        String(protocolBinding).toUpperCase() === jsonRpc && /^1\./.test(String(protocolVersion)),
    )
  if (!found && endpoint === undefined) return fail(`the agent has no ${jsonRpc} interface with version 1.0`)
  const target = endpoint ?? String(found?.url)
  if (!URL.canParse(target) || !/^https?:$/.test(new URL(target).protocol))
    return fail(`the URL of its interface is '${target}'`)
  // An attacker who can change the card could otherwise send our headers anywhere.
  if (endpoint === undefined && new URL(target).origin !== new URL(cardUrl).origin)
    return fail(
      `its interface is at another origin, ${new URL(target).origin}: if you trust that one, pass the option endpoint: '${target}'`,
    )
  return {
    name: clean(name).slice(0, 200),
    description: describe(card),
    endpoint: target,
    hasStreaming: isObject(capabilities) && capabilities.streaming === true,
  }
}

/** For the model: what the agent says about itself, and what it can do. */
function describe({ description, skills }: Readonly<Record<string, unknown>>): string {
  const about = typeof description === 'string' ? description.trim() : ''
  const list = Array.isArray(skills) ? skills.filter(isObject) : []
  const lines = list
    .filter((skill) => String(skill.description ?? '').trim() !== about)
    .map((skill) => `- ${skill.name ?? skill.id}: ${skill.description ?? ''}`)
  return clean([about, ...(lines.length > 0 ? ['It can:', ...lines] : [])].filter(Boolean).join('\n')).slice(
    0,
    maxDescriptionChars,
  )
}

/** Without characters that people cannot see, but models read. */
export function clean(text: string): string {
  return replaceInvisible(text, (character) => (/[\t\n\r\p{Zs}]/u.test(character) ? character : ''))
}
