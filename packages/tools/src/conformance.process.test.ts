import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { bundled } from '../../../test/bundle.ts'
import { conformance } from './conformance.test-kit.ts'

// What the official conformance suite finds, in both versions of the protocol. Warnings count as
// failures.

const programOf = (name: string) => bundled(fileURLToPath(new URL(`./${name}.test-kit.ts`, import.meta.url)))

/** The scenarios and checks that the server fails, by the reason. */
const expected: Record<string, Record<string, readonly string[]>> = {
  '2025-11-25': {
    'agents are tools: the server has nothing else': [
      'completion-complete:completion-complete',
      'logging-set-level:logging-set-level',
      'tools-call-with-logging:tools-call-with-logging',
      ...names('prompts-', [
        'get-embedded-resource',
        'get-simple',
        'get-with-args',
        'get-with-image',
        'list',
      ]),
      ...names('resources-', [
        'list',
        'read-binary',
        'read-text',
        'subscribe',
        'templates-read',
        'unsubscribe',
      ]),
    ],
    'the answer of an agent is text': [
      ...names('tools-call-', ['audio', 'embedded-resource', 'image', 'mixed-content']),
    ],
    'agents bring their own model, and approvals have no fields': [
      'tools-call-sampling:tools-call-sampling',
      'elicitation-sep1034-defaults:elicitation-sep1034-general',
      'elicitation-sep1330-enums:elicitation-sep1330-general',
    ],
    'all agents have the same input': ['json-schema-2020-12:json-schema-2020-12-tool-found'],
    // The thread keeps the answer: the call is repeated without a prompt, or it is a task.
    'streams are not resumed': [
      'server-sse-polling:server-sse-priming-event',
      'server-sse-polling:server-sse-retry-field',
    ],
  },
  '2026-07-28': {
    'agents are tools: the server has nothing else': [
      'completion-complete:completion-complete',
      'caching:sep-2549-prompts-list-caching-hints',
      'caching:sep-2549-resources-list-caching-hints',
      'caching:sep-2549-resources-templates-list-caching-hints',
      'input-required-result-non-tool-request:sep-2322-non-tool-incomplete',
      'sep-2164-resource-not-found:sep-2164-data-uri',
      'sep-2164-resource-not-found:sep-2164-error-code',
      ...names('prompts-', [
        'get-embedded-resource',
        'get-simple',
        'get-with-args',
        'get-with-image',
        'list',
      ]),
      ...names('resources-', ['list', 'read-binary', 'read-text', 'templates-read']),
    ],
    'the answer of an agent is text': [
      ...names('tools-call-', ['audio', 'embedded-resource', 'image', 'mixed-content']),
    ],
    'agents bring their own model and files, and approvals have no fields': [
      'input-required-result-basic-elicitation:sep-2322-elicitation-incomplete',
      'input-required-result-basic-list-roots:sep-2322-list-roots-incomplete',
      'input-required-result-basic-sampling:sep-2322-sampling-incomplete',
      'input-required-result-capability-check:sep-2322-respect-client-capabilities',
      'input-required-result-ignore-extra-params:sep-2322-ignore-unexpected-params',
      'input-required-result-multi-round:sep-2322-multi-round-r1',
      'input-required-result-multiple-input-requests:sep-2322-multiple-inputs-incomplete',
      'tasks-mrtr-composition:sep-2663-mrtr-synchronous-before-task-creation',
    ],
    'all agents have the same input': [
      'json-schema-2020-12:json-schema-2020-12-tool-found',
      ...['decode-base64', 'no-xmcp-tool', 'reject-invalid-param-chars'].map(inHeaders),
      ...['reject-param-mismatch', 'validate-param-match'].map(inHeaders),
    ],
    'every call works without tasks and without a user': [
      'server-stateless:sep-2575-missing-capability-http-400',
      'server-stateless:sep-2575-server-rejects-undeclared-capability',
      'tasks-required-task-error:sep-2663-server-returns-missing-capability-when-required',
    ],
    "an agent's failure is a result": ['tasks-lifecycle:sep-2663-tasks-get-status-failed'],
  },
}

/** Scenarios with one check of the same name. */
function names(prefix: string, ends: readonly string[]): string[] {
  return ends.map((end) => `${prefix}${end}:${prefix}${end}`)
}

function inHeaders(check: string): string {
  return `http-custom-header-server-validation:sep-2243-server-${check}`
}

test.each(Object.keys(expected))('the server fails only what agents do not do, with %s', async (revision) => {
  const server = spawn(process.execPath, [await programOf('mcp-server/conformance')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void server.kill('SIGKILL'))
  const [address] = await once(server.stdout, 'data')
  const { passed, failed } = await conformance('server', [
    '--url',
    String(address).trim(),
    '--requirements',
    revision,
  ])
  expect(failed).toEqual(
    Object.values(expected[revision] ?? {})
      .flat()
      .sort(),
  )
  expect(passed).toBeGreaterThan(revision === '2026-07-28' ? 100 : 30)
})

/**
 * What concerns the client itself: signing in is left to the official client and the app's own
 * `authProvider`, so that of its many scenarios only some are run.
 */
const clientScenarios: Record<string, readonly string[]> = {
  '2025-11-25': [
    'initialize',
    'tools_call',
    'elicitation-sep1034-client-defaults',
    'sse-retry',
    'json-schema-2020-12-preservation',
    'auth/metadata-default',
    'auth/scope-step-up',
  ],
  '2026-07-28': [
    'tools_call',
    'request-metadata',
    'sep-2322-client-request-state',
    'http-standard-headers',
    'http-custom-headers',
    'http-invalid-tool-headers',
    'json-schema-ref-no-deref',
    'json-schema-2020-12-preservation',
    'auth/metadata-default',
    'auth/iss-wrong-issuer',
  ],
}

const preservation = ['client-$schema', 'client-$defs', 'client-additionalProperties'].map(
  (what) => `json-schema-2020-12-preservation:json-schema-2020-12-${what}-preserved`,
)

const clientExpected: Record<string, Record<string, readonly string[]>> = {
  '2025-11-25': {
    'schemas that no provider accepts are described in words': preservation,
  },
  '2026-07-28': {
    'schemas that no provider accepts are described in words': [
      ...preservation,
      ...['anchor-keyword', 'composition-keywords', 'conditional-keywords'].map(
        (what) => `json-schema-2020-12-preservation:sep-2106-client-${what}-preserved`,
      ),
    ],
    'an input that does not fit the schema is not sent': ['http-custom-headers:sep-2243-client-omit-null'],
  },
}

test.each(Object.keys(clientScenarios))(
  'the client fails only what agents do not do, with %s',
  async (revision) => {
    const command = `${process.execPath} ${await programOf('mcp/conformance')}`
    const waiting = [...(clientScenarios[revision] ?? [])]
    const failed: string[] = []
    const work = async () => {
      for (let scenario = waiting.shift(); scenario; scenario = waiting.shift()) {
        const options = ['--command', command, '--scenario', scenario, '--spec-version', revision]
        const report = await conformance('client', options)
        expect(report.passed, scenario).toBeGreaterThan(0)
        failed.push(...report.failed)
      }
    }
    await Promise.all([work(), work()])
    expect(failed.sort()).toEqual(
      Object.values(clientExpected[revision] ?? {})
        .flat()
        .sort(),
    )
  },
)
