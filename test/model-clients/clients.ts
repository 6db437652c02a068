import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from 'millrace'
import type { ClientName } from './install.ts'

/** The format in which a client talks to the server. */
export type Wire = 'chat' | 'responses' | 'messages'

export interface Home {
  /** The home folder, and the one in which the client works. */
  readonly home: string
  readonly work: string
  /** The address of the server, or of a proxy in front of it. */
  readonly url: string
}

export interface AskOptions {
  readonly wire: Wire
  readonly home: Home
  /** In the last session. */
  readonly continues?: boolean | undefined
  /** Prints also what the model thinks. */
  readonly isVerbose?: boolean | undefined
}

interface Invocation {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** A command-line client. */
export interface Client {
  readonly name: ClientName
  readonly wires: readonly Wire[]
  /**
   * Formats in which it sends a request again without saying so, even if the answer was complete
   * when it was cut: the server cannot tell that from a new request.
   */
  readonly withoutSession?: readonly Wire[]
  /**
   * After a cut it runs the calls that it has, and then sends the same request again: with any
   * provider, such a call runs twice.
   */
  readonly repeatsCalls?: true
  /** Writes its configuration. */
  configure(home: Home): void
  /** Asks the model `mill`. */
  ask(prompt: string, options: AskOptions): Invocation
  /** The call of its tool that runs a command. */
  shell(command: string): { readonly call: string; readonly input: JsonObject }
}

const key = 'a-key'

const codex: Client = {
  name: 'codex',
  wires: ['responses'],
  configure({ home, url }) {
    const lines = [
      'model = "mill"',
      'model_provider = "mill"',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[model_providers.mill]',
      'name = "mill"',
      `base_url = "${url}/v1"`,
      'wire_api = "responses"',
      'env_key = "MILL_KEY"',
      // By default it asks 30 times before it reports an error 500.
      'request_max_retries = 1',
      'stream_max_retries = 2',
    ]
    mkdirSync(join(home, '.codex'))
    writeFileSync(join(home, '.codex/config.toml'), lines.join('\n'))
  },
  ask: (prompt, { continues }) => ({
    args: ['exec', '--skip-git-repo-check', ...(continues ? ['resume', '--last'] : []), prompt],
    env: { MILL_KEY: key },
  }),
  shell: (cmd) => ({ call: 'exec_command', input: { cmd } }),
}

const claudeCode: Client = {
  name: 'claude-code',
  wires: ['messages'],
  configure() {},
  ask: (prompt, { home: { url }, continues, isVerbose }) => ({
    args: [
      ...['-p', '--model', 'mill', '--allowedTools', 'Bash'],
      ...(isVerbose ? ['--verbose', '--output-format', 'stream-json'] : []),
      ...[...(continues ? ['-c'] : []), '--', prompt],
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_MAX_RETRIES: '2',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_TELEMETRY: '1',
    },
  }),
  shell: (command) => ({ call: 'Bash', input: { command, description: 'Writes a file' } }),
}

const opencode: Client = {
  name: 'opencode',
  wires: ['chat', 'responses', 'messages'],
  repeatsCalls: true,
  configure({ home, url }) {
    const provider = (npm: string) => ({
      npm,
      options: { baseURL: `${url}/v1`, apiKey: key },
      models: { mill: { name: 'mill', reasoning: true } },
    })
    const config = {
      autoupdate: false,
      share: 'disabled',
      permission: { bash: 'allow' },
      provider: {
        chat: provider('@ai-sdk/openai-compatible'),
        responses: provider('@ai-sdk/openai'),
        messages: provider('@ai-sdk/anthropic'),
      },
    }
    writeFileSync(join(home, 'opencode.json'), JSON.stringify(config))
  },
  ask: (prompt, { wire, home: { home }, continues }) => ({
    // Without a title it asks the model for one, in a conversation of its own.
    args: ['run', '--thinking', '-m', `${wire}/mill`, ...(continues ? ['-c'] : ['--title', 'mill']), prompt],
    env: {
      OPENCODE_CONFIG: join(home, 'opencode.json'),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    },
  }),
  shell: (command) => ({ call: 'bash', input: { command, description: 'Writes a file' } }),
}

const pi: Client = {
  name: 'pi',
  wires: ['chat', 'responses', 'messages'],
  withoutSession: ['chat', 'messages'],
  configure({ home, url }) {
    const provider = (api: string, baseUrl: string) => ({
      api,
      baseUrl,
      apiKey: key,
      models: [{ id: 'mill', reasoning: true }],
    })
    const providers = {
      chat: provider('openai-completions', `${url}/v1`),
      responses: provider('openai-responses', `${url}/v1`),
      messages: provider('anthropic-messages', url),
    }
    mkdirSync(join(home, '.pi/agent'), { recursive: true })
    writeFileSync(join(home, '.pi/agent/models.json'), JSON.stringify({ providers }))
  },
  ask: (prompt, { wire, continues, isVerbose }) => ({
    args: [
      ...['-p', '--provider', wire, '--model', 'mill'],
      ...(isVerbose ? ['--mode', 'json'] : []),
      ...[...(continues ? ['-c'] : []), prompt],
    ],
    env: { PI_OFFLINE: '1', PI_SKIP_VERSION_CHECK: '1', PI_TELEMETRY: '0' },
  }),
  shell: (command) => ({ call: 'bash', input: { command } }),
}

export const clients = { codex, claudeCode, opencode, pi }
