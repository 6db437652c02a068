import type {
  CallToolResult,
  ClientCapabilities,
  ProtocolEra,
  Result,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server'
import type { JsonObject } from 'millrace'
import { isObject } from 'millrace/internal'
import type { Caller } from 'millrace/server'
import { tasksExtension } from '../mcp/task-result.ts'
import type { AgentCall, AgentCallInput, CallAnswer } from './agent-call.ts'
import { canAsk, checkResumePoint, decide } from './approvals.ts'
import type { McpSettings } from './options.ts'
import { errorResult, outputSchema, textOf } from './results.ts'
import type { Sdk } from './sdk.ts'
import type { AgentTask, TasksOptions } from './tasks.ts'
import {
  awaitTask,
  cancelTask,
  detailedTask,
  findTask,
  listTasks,
  newTask,
  oldTask,
  readTask,
} from './tasks.ts'
import { toolNames } from './tool-names.ts'

export interface AgentServersOptions {
  readonly sdk: Sdk
  readonly settings: McpSettings
  readonly agents: readonly string[]
  readonly answer: (call: AgentCall) => Promise<CallAnswer>
  /** Lets a request end before the server closes. */
  readonly track: <T>(running: Promise<T>) => Promise<T>
  readonly tasks: TasksOptions
}

const inputSchema = {
  type: 'object',
  properties: {
    prompt: {
      type: 'string',
      minLength: 1,
      description: 'The task or question, with everything needed: the agent does not see your conversation.',
    },
    thread: {
      type: 'string',
      minLength: 1,
      description:
        'Continues a conversation: the thread of an earlier result. Omit the prompt to get the answer to the previous one.',
    },
  },
  additionalProperties: false,
} as const satisfies JsonObject

/** What an agent does with its own tools is not known here, so these are conservative. */
const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

/** How often a person may be asked within one call, and how long they may take each time. */
const maxRounds = 1000
const roundTimeoutMs = 86_400_000

/**
 * Returns a function that creates an MCP server with a tool for each agent: one for each request, session
 * or pipe, as the SDK requires. `callerOf` returns the caller of a request.
 */
export function agentServers({ sdk, settings, agents, answer, track, tasks }: AgentServersOptions) {
  const { name, version, describe, taskAfterMs } = settings
  const { pollMs } = tasks
  const AgentServer = serverWithTasks(sdk)
  const tools = new Map([...toolNames(agents)].map(([agent, tool]) => [tool, agent]))
  const definitions = [...tools].map(([name, agent]) => ({
    name,
    title: agent,
    description: describe[agent] ?? `Ask the agent '${agent}', which may use its own tools.`,
    inputSchema,
    outputSchema,
    annotations,
    // Left out since 2026-07-28.
    execution: { taskSupport: 'optional' as const },
  }))
  // Created once: compiling schemas takes longer than everything else.
  const input = sdk.fromJsonSchema<AgentCallInput>(inputSchema)
  const taskParams = sdk.fromJsonSchema<{ taskId: string }>({
    type: 'object',
    properties: { taskId: { type: 'string' } },
    required: ['taskId'],
  })

  const listParams = sdk.fromJsonSchema<{ cursor?: string }>({
    type: 'object',
    properties: { cursor: { type: 'string' } },
  })

  return (callerOf: (context: ServerContext) => Caller, era: ProtocolEra): Server => {
    const isOld = era === 'legacy'
    const server = new AgentServer(
      { name, version },
      {
        capabilities: {
          tools: { listChanged: false },
          ...(isOld
            ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
            : { extensions: { [tasksExtension]: {} } }),
        },
        inputRequired: { maxRounds, roundTimeoutMs },
        requestState: { verify: checkResumePoint },
      },
    )
    const asks = (context: ServerContext) => canAsk(capabilitiesOf(sdk, server, context))
    server.setRequestHandler('tools/list', () => ({ tools: definitions }))
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const agent = tools.get(params.name)
      if (agent === undefined)
        throw new sdk.ProtocolError(
          -32602,
          `Tool ${params.name} not found: the tools are ${[...tools.keys()].join(', ')}`,
        )
      const checked = await input['~standard'].validate(params.arguments ?? {})
      if (checked.issues) {
        const problems = checked.issues.map(({ message }) => message).join('; ')
        return errorResult(`Input validation error: Invalid arguments for tool ${params.name}: ${problems}`)
      }
      const wantsTask = isOld && 'task' in params && isObject(params.task)
      const answered = await answer({
        agent,
        input: checked.value,
        caller: callerOf(context),
        canAsk: asks(context),
        request: context.mcpReq,
        taskAfterMs: wantsTask ? 0 : supportsTasks(sdk, context) ? taskAfterMs : undefined,
      })
      if (isTask(answered)) throw new CreatedTask(await taskResult(answered))
      // The answer to such a request must be a task, or an error.
      if (wantsTask) throw new sdk.ProtocolError(-32602, textOf(answered as CallToolResult))
      return answered
    })

    /** A task begins as working, even if it has ended: the rest is left to `tasks/get`. */
    async function taskResult(task: AgentTask): Promise<Result> {
      const state = await readTask(task)
      const begun =
        state.status === 'working' ? state : ({ ...state, status: 'working', message: 'working' } as const)
      return isOld ? { task: oldTask(begun, pollMs) } : { ...newTask(begun, pollMs), resultType: 'task' }
    }

    /** A request about a task of the caller. */
    function onTask<T extends Result>(
      method: string,
      handle: (task: AgentTask, context: ServerContext, params: { taskId: string }) => Promise<T>,
    ) {
      server.setRequestHandler(method, { params: taskParams }, async (params, context) => {
        if (!isOld) requireTasks(sdk, context)
        const task = await findTask(sdk, callerOf(context), params.taskId)
        return track(handle(task, context, params))
      })
    }

    onTask('tasks/get', async (task, context) => {
      const state = await readTask(task)
      if (isOld) return oldTask(state, pollMs)
      return detailedTask(sdk, state, { canAsk: asks(context), pollMs })
    })
    onTask('tasks/cancel', async (task) => {
      const { result, status } = await readTask(task)
      if (isOld && result)
        throw new sdk.ProtocolError(-32602, `The task '${task.id}' cannot be canceled: it is ${status}`)
      if (!result) await cancelTask(sdk, task)
      return isOld ? oldTask(await readTask(task), pollMs) : {}
    })
    if (!isOld) {
      onTask('tasks/update', async (task, { mcpReq }, params) => {
        const { inputResponses = mcpReq.inputResponses } = params as {
          inputResponses?: Record<string, unknown>
        }
        await decide(sdk, task.thread, inputResponses)
        return {}
      })
      return server
    }
    onTask('tasks/result', async (task, context) => {
      const result = await awaitTask(task, { request: context.mcpReq, canAsk: asks(context) }, tasks)
      if (!result)
        throw new sdk.ProtocolError(
          -32603,
          `The server is shutting down: ask for the task '${task.id}' again`,
        )
      return { ...result, _meta: { 'io.modelcontextprotocol/related-task': { taskId: task.id } } }
    })
    server.setRequestHandler('tasks/list', { params: listParams }, async ({ cursor }, context) => {
      const { states, next } = await listTasks(callerOf(context), cursor)
      return {
        tasks: states.map((state) => oldTask(state, pollMs)),
        ...(next !== undefined && { nextCursor: next }),
      }
    })
    return server
  }
}

/** Passes a task around the SDK's check of results, which does not know tasks. */
class CreatedTask extends Error {
  readonly result: Result
  constructor(result: Result) {
    super('the call became a task')
    this.result = result
  }
}

function serverWithTasks({ Server: Base }: Sdk) {
  return class extends Base {
    protected override _wrapHandler(method: string, handler: Parameters<Server['_wrapHandler']>[1]) {
      const checked = super._wrapHandler(method, handler)
      return (...call: Parameters<typeof handler>) =>
        checked(...call).catch((thrown: unknown) => {
          if (thrown instanceof CreatedTask) return thrown.result
          throw thrown
        })
    }
  }
}

function isTask(answer: CallAnswer): answer is AgentTask {
  return 'thread' in answer && 'input' in answer
}

function supportsTasks(sdk: Sdk, context: ServerContext): boolean {
  return sentCapabilities(sdk, context)?.extensions?.[tasksExtension] !== undefined
}

function requireTasks(sdk: Sdk, context: ServerContext): void {
  if (supportsTasks(sdk, context)) return
  throw new sdk.MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })
}

function sentCapabilities(sdk: Sdk, { mcpReq }: ServerContext): ClientCapabilities | undefined {
  return mcpReq.envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY as keyof typeof mcpReq.envelope] as
    | ClientCapabilities
    | undefined
}

/** Sent with each request since 2026-07-28, and once per session before. */
function capabilitiesOf(sdk: Sdk, server: Server, context: ServerContext): ClientCapabilities | undefined {
  return sentCapabilities(sdk, context) ?? server.getClientCapabilities()
}
