import { describe, expect, it } from 'vitest'
import { isMillraceError } from '../../protocol/index.ts'
import { estimateTokens } from './count-tokens.ts'
import { readMessageRequest } from './message-request.ts'

const hello = { role: 'user', content: 'Hello' }
const weather = { name: 'weather', description: 'Tells it', input_schema: { type: 'object' } }
const spec = { name: 'weather', description: 'Tells it', inputSchema: { type: 'object' } }

const read = (body: object) => readMessageRequest({ model: 'agent', messages: [hello], ...body })
const settingsOf = (body: object) => read(body).request.settings

/** The messages of a request, from blocks of the user. */
const userBlocks = (...content: object[]) => read({ messages: [{ role: 'user', content }] }).messages

function problemWith(body: unknown): string {
  try {
    readMessageRequest(body)
  } catch (error) {
    if (isMillraceError(error) && error.status === 400) return error.message
    throw error
  }
  return 'accepted'
}

describe('a request for a message', () => {
  it('takes the system prompt from both places, without cache marks', () => {
    const cache_control = { type: 'ephemeral' }
    const { request, messages } = read({
      system: [
        { type: 'text', text: 'Be brief.', cache_control },
        { type: 'text', text: ' ' },
      ],
      messages: [hello, { role: 'system', content: 'Today is Monday.' }],
    })
    expect(request).toEqual({ system: 'Be brief.\n\nToday is Monday.' })
    expect(messages).toEqual([hello])
    expect(read({ system: 'Be kind.' }).request.system).toBe('Be kind.')
  })

  it('reads results first, and other content as a message of the user', () => {
    const use = (id: string) => ({ type: 'tool_use', id, name: 'weather', input: { city: id } })
    const { messages } = read({
      messages: [
        hello,
        {
          role: 'assistant',
          content: [{ type: 'thinking', thinking: 'Hm', signature: 's' }, use('a'), use('b')],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hurry up', cache_control: { type: 'ephemeral' } },
            { type: 'tool_result', tool_use_id: 'b', content: 'rain' },
            {
              type: 'tool_result',
              tool_use_id: 'a',
              is_error: true,
              content: [
                { type: 'text', text: 'no' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
              ],
            },
          ],
        },
      ],
    })
    const image = { type: 'image', mediaType: 'image/png', data: 'AA==' }
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: ['a', 'b'].map((id) => ({
          type: 'tool-call',
          callId: id,
          name: 'weather',
          input: { city: id },
        })),
      },
      { role: 'tool', callId: 'b', name: 'weather', content: [{ type: 'text', text: 'rain' }] },
      {
        role: 'tool',
        callId: 'a',
        name: 'weather',
        content: [{ type: 'text', text: 'no' }, image],
        isError: true,
      },
      { role: 'user', content: 'Hurry up' },
    ])
  })

  it('ignores what the server itself has done', () => {
    const { messages } = read({
      messages: [
        hello,
        {
          role: 'assistant',
          content: [
            { type: 'redacted_thinking', data: 'x' },
            { type: 'mcp_tool_use', id: 'm', name: 'find', input: {}, server_name: 'millrace' },
            { type: 'mcp_tool_result', tool_use_id: 'm', is_error: false, content: [] },
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
            { type: 'text', text: 'Found.' },
          ],
        },
        hello,
      ],
    })
    expect(messages[1]).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Found.' }] })
  })

  it('reads images and documents', () => {
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'AA==' }
    expect(
      userBlocks(
        { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
        { type: 'document', source: pdf, title: 'a.pdf' },
        { type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Hé' } },
        { type: 'document', source: { type: 'content', content: 'Inline' } },
      ),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', url: 'https://a.example/b.png' },
          { type: 'file', mediaType: 'application/pdf', data: 'AA==', name: 'a.pdf' },
          { type: 'file', mediaType: 'application/pdf', url: 'https://a.example/b.pdf' },
          { type: 'file', mediaType: 'text/plain', data: Buffer.from('Hé').toString('base64') },
          { type: 'text', text: 'Inline' },
        ],
      },
    ])
  })

  it('keeps a document of a result in a message after it', () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'AA==' }
    const content = [
      { type: 'text', text: 'Read' },
      { type: 'document', source },
    ]
    const thread = { type: 'continue', previous_message_id: 'msg_1' }
    const result = { type: 'tool_result', tool_use_id: 'a', content }
    expect(read({ thread, messages: [{ role: 'user', content: [result] }] }).messages).toEqual([
      { role: 'tool', callId: 'a', name: '', content: [{ type: 'text', text: 'Read' }] },
      { role: 'user', content: [{ type: 'file', mediaType: 'application/pdf', data: 'AA==' }] },
    ])
  })

  it("takes the client's own tools, and ignores those that Anthropic defines", () => {
    const { request, eagerTools } = read({
      tools: [
        { ...weather, eager_input_streaming: true, cache_control: { type: 'ephemeral' } },
        { type: 'custom', name: 'plain', input_schema: { type: 'object' }, strict: true },
        { type: 'web_search_20250305', name: 'web_search' },
        { type: 'mcp_toolset', mcp_server_name: 'x' },
      ],
    })
    expect(request.tools).toEqual([
      spec,
      { name: 'plain', description: 'plain', inputSchema: { type: 'object' }, strict: true },
    ])
    expect([...eagerTools]).toEqual(['weather'])
  })

  it('applies tools that were added or removed in the middle', () => {
    const change = (type: string, tool: object) => ({ role: 'system', content: [{ type, tool }] })
    const definition = { ...weather, name: 'clock' }
    const { request } = read({
      tools: [weather, { ...weather, name: 'map' }],
      messages: [
        hello,
        change('tool_removal', { type: 'tool_reference', name: 'weather' }),
        change('tool_removal', { type: 'tool_reference', name: 'map' }),
        change('tool_addition', { type: 'tool_definition', definition }),
        change('tool_addition', { type: 'tool_reference', name: 'map' }),
      ],
    })
    expect(request.tools?.map(({ name }) => name)).toEqual(['map', 'clock'])
  })

  it.each([
    [{ type: 'auto' }, 'auto'],
    [{ type: 'none' }, 'none'],
    [{ type: 'any' }, 'required'],
    [{ type: 'tool', name: 'weather' }, { name: 'weather' }],
  ])('reads the tool choice %j', (tool_choice, toolChoice) => {
    expect(read({ tool_choice }).request.toolChoice).toEqual(toolChoice)
  })

  it('reads settings', () => {
    const tool_choice = { type: 'auto', disable_parallel_tool_use: true }
    expect(
      settingsOf({ max_tokens: 9, temperature: 0.5, top_p: 0.9, stop_sequences: ['END'], tool_choice }),
    ).toEqual({ maxOutputTokens: 9, temperature: 0.5, topP: 0.9, stop: ['END'], parallelToolCalls: false })
  })

  it.each([
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'high' } }, 'none'],
    [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, 'minimal'],
    [{ thinking: { type: 'enabled', budget_tokens: 10_000 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 31_999 } }, 'high'],
    [{ thinking: { type: 'adaptive' } }, 'high'],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }, 'low'],
    [{ output_config: { effort: 'max' } }, 'high'],
    [{}, undefined],
  ])('reads how much to think from %j', (body, reasoning) => {
    expect(settingsOf(body)?.reasoning).toBe(reasoning)
  })

  it('reads the schema of the answer, also from the beta field', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } }
    expect(read({ output_config: { format } }).request.output).toEqual({ type: 'object' })
    expect(read({ output_format: format }).request.output).toEqual({ type: 'object' })
  })

  it.each([
    [[], 'The body must be a JSON object'],
    [{ messages: [] }, 'messages: must be an array with at least one message'],
    [{ messages: [{ role: 'tool', content: '' }] }, 'messages.0.role: '],
    [{ messages: [{ role: 'user', content: 5 }] }, 'messages.0.content: '],
    [{ messages: [{ role: 'user', content: '' }] }, 'messages.0.content: user messages must have non-empty'],
    [{ messages: [{ role: 'user', content: [{ type: 'video' }] }] }, 'messages.0.content.0.type: '],
    [
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file' } }] }] },
      'messages.0.content.0.source: ',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x' }] }] },
      'messages.0.content.0: unexpected `tool_use_id`',
    ],
    [
      { messages: [hello, { role: 'assistant', content: '{' }] },
      'messages: the conversation must end with a user',
    ],
    [{ messages: [hello], max_tokens: 0 }, 'max_tokens: must be a whole number of at least 1, not 0'],
    [{ messages: [hello], temperature: 'hot' }, 'temperature: must be a number'],
    [{ messages: [hello], tools: [{ name: 'a' }] }, 'tools.0.input_schema: '],
    [{ messages: [hello], tool_choice: 'any' }, 'tool_choice: '],
    [{ messages: [hello], thread: { type: 'continue' } }, 'thread: '],
    [{ messages: [hello], output_config: { format: { type: 'xml' } } }, 'output_config.format: '],
    [{ messages: [hello], system: 5 }, 'system: '],
  ])('names the field that is wrong in %j', (body, problem) => {
    expect(problemWith(body)).toContain(problem)
  })

  it('accepts fields that it does not know', () => {
    expect(problemWith({ messages: [hello], metadata: { user_id: 'u' }, speed: 'fast', next_year: [] })).toBe(
      'accepted',
    )
  })
})

describe('the estimate of tokens', () => {
  it('grows with everything that a request contains', () => {
    const count = (body: object) => estimateTokens(read(body))
    expect(count({})).toBe(2)
    expect(count({ system: 'x'.repeat(400) })).toBe(102)
    expect(count({ tools: [weather] })).toBeGreaterThan(count({}))
    const image = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(1e6) },
    }
    const counted = count({ messages: [{ role: 'user', content: [image] }] })
    expect(counted).toBeGreaterThan(500)
    expect(counted).toBeLessThan(2000)
  })
})
