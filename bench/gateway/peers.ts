import { createRequire } from 'node:module'
import { type AddressInfo, Server } from 'node:net'
import type { Wire } from '../contract.ts'
import type { Opened, ServerConfig } from './server.ts'

// Gateways on npm, as their documentation says, without logs.

/**
 * The address of the first server that `start` opens, at port 0: these packages do not report which
 * port they got. A port that was chosen before may be taken by then; llms then exits silently.
 */
async function addressOf(start: () => Promise<unknown>): Promise<string> {
  const { listen } = Server.prototype
  const listening = new Promise<string>((resolve) => {
    Server.prototype.listen = function (this: Server, ...args: unknown[]) {
      this.once('listening', () => resolve(`http://127.0.0.1:${(this.address() as AddressInfo).port}`))
      Server.prototype.listen = listen
      return Reflect.apply(listen, this, args)
    }
  })
  await start()
  return listening
}

/** Its package has only a command. The provider is named in the headers of each request. */
export async function portkey({ provider, baseURL }: ServerConfig, model: string): Promise<Opened> {
  process.argv.push('--port=0', '--headless')
  // Not known to TypeScript: the package is installed only in `bench/`.
  const command: string = '@portkey-ai/gateway/build/start-server.js'
  const url = await addressOf(() => import(command))
  const name = provider === 'messages' ? 'anthropic' : 'openai'
  return { url, model, headers: { 'x-portkey-provider': name, 'x-portkey-custom-host': baseURL } }
}

/** The transformers of a provider, if it does not speak Chat Completions. */
const transformers: Readonly<Record<Wire, readonly string[]>> = {
  chat: [],
  responses: ['openai-responses'],
  messages: ['Anthropic'],
}
const paths: Readonly<Record<Wire, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
}

export async function llms({ provider, baseURL }: ServerConfig, model: string): Promise<Opened> {
  // Its ES modules cannot be loaded: "Dynamic require of "child_process" is not supported".
  const { default: LlmsServer } = createRequire(import.meta.url)('@musistudio/llms') as {
    readonly default: new (options: object) => { start(): Promise<void> }
  }
  const server = new LlmsServer({
    logger: false,
    useEnvFile: false,
    useJsonFile: false,
    initialConfig: {
      PORT: '0',
      HOST: '127.0.0.1',
      providers: [
        {
          name: 'bench',
          api_base_url: `${baseURL}${paths[provider]}`,
          api_key: 'none',
          models: [model],
          ...(transformers[provider].length > 0 && { transformer: { use: transformers[provider] } }),
        },
      ],
    },
  })
  return { url: await addressOf(() => server.start()), model: `bench,${model}` }
}
