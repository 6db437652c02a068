// Run as a program: `node conformance.test-kit.mjs <url>`, bundled. What the official
// conformance suite starts: an agent that calls all tools of the suite's server at once.

import type { OAuthClientProvider } from '@modelcontextprotocol/client'
import { auth } from '@modelcontextprotocol/client'
import type { JsonObject, JsonValue } from 'millrace'
import { agent } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { type McpToolbox, mcp } from '../mcp.ts'

interface Context {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[]
  readonly client_id?: string
  readonly client_secret?: string
}

const url = process.argv.at(-1) ?? ''
const context: Context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')

/** An app with a user who always consents. */
function consenting(): OAuthClientProvider & { readonly code: string | undefined } {
  const saved: Record<string, unknown> = {}
  const redirectUrl = 'http://localhost:3000/callback'
  const { client_id, client_secret } = context
  let code: string | undefined
  return {
    redirectUrl,
    clientMetadata: { client_name: 'millrace', redirect_uris: [redirectUrl] },
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    clientInformation: () => (client_id ? { client_id, client_secret } : saved.client) as never,
    saveClientInformation: (client) => void Object.assign(saved, { client }),
    tokens: () => saved.tokens as never,
    saveTokens: (tokens) => void Object.assign(saved, { tokens }),
    saveCodeVerifier: (verifier) => void Object.assign(saved, { verifier }),
    codeVerifier: () => saved.verifier as string,
    async redirectToAuthorization(address) {
      const { headers } = await fetch(address, { redirect: 'manual' })
      callback = new URL(headers.get('location') ?? '').searchParams
      code = callback.get('code') ?? undefined
    },
    get code() {
      return code
    },
  }
}

let callback = new URLSearchParams()
const provider = consenting()

/** Connects, and signs in if the server wants that. */
async function connect(): Promise<McpToolbox> {
  for (let attempt = 1; ; attempt++)
    try {
      return await mcp({ url, authProvider: provider, trust: true, sampling: true })
    } catch (error) {
      if (attempt > 3 || provider.code === undefined) throw error
      await signIn()
    }
}

const signIn = () =>
  auth(provider, {
    serverUrl: url,
    authorizationCode: provider.code ?? '',
    ...(callback.has('iss') && { iss: callback.get('iss') ?? '' }),
  })

function sampleOf(schema: unknown): JsonValue {
  const {
    type,
    properties = {},
    ...rest
  } = (schema ?? {}) as { type?: string; properties?: JsonObject; default?: JsonValue }
  if (rest.default !== undefined) return rest.default
  if (type === 'object')
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, sampleOf(field)]))
  return type === 'number' || type === 'integer' ? 1 : type === 'boolean' ? true : 'text'
}

function callsOf({ tools }: McpToolbox) {
  const [first] = tools
  return (
    context.toolCalls?.map(({ name, arguments: input }) => ({ call: name, input })) ??
    tools.map(({ name, inputSchema }) => {
      const input = sampleOf(inputSchema) as JsonObject
      // One scenario wants to see a schema as the client read it.
      return { call: name, input: 'schema' in input ? { ...input, schema: first?.inputSchema ?? {} } : input }
    })
  )
}

const box = await connect()
for (let attempt = 1; attempt <= 3; attempt++) {
  const before = provider.code
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Done.' : callsOf(box)))
  let run = agent({ model, tools: [box] }).stream('Call everything.')
  let result = await run.result
  while (result.outcome === 'suspended') {
    run = run.resume(result.approvals.map(({ callId }) => ({ callId, approved: true })))
    result = await run.result
  }
  // A call needed more rights than the user had given.
  if (provider.code === before) break
  await signIn()
}
await box.close()
