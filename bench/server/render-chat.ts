import type { Frame, Render } from './frame.ts'
import { created, padding, tokens } from './frame.ts'
import { idOf } from './ids.ts'

/** Chat Completions: chunks with deltas of one choice, then the finish, the usage and `[DONE]`. */
export const renderChat: Render = ({ name, round, parts, options }) => {
  const frames: Frame[] = []
  const head = {
    id: idOf('chatcmpl-', 29, name, round),
    object: 'chat.completion.chunk',
    created,
    model: 'gpt-4.1-mini-2025-04-14',
    service_tier: 'default',
    system_fingerprint: 'fp_de604bd877',
  }
  function chunk(choices: object[], delta = '', waitMs = 0, usage: object | null = null) {
    const data = { ...head, choices, ...(options.usage && { usage }), ...padding(options, delta) }
    frames.push({ text: `data: ${JSON.stringify(data)}\n\n`, waitMs })
  }
  const tell = (delta: object, text = '', waitMs = 0, finish: string | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: finish }], text, waitMs)

  // `"content":null` when the answer begins with a call, and `""` when it begins with words.
  tell({ role: 'assistant', content: parts[0]?.type === 'call' ? null : '', refusal: null })
  let calls = 0
  for (const { everyMs = 0, ...part } of parts) {
    if (part.type === 'text') {
      for (const content of part.deltas) tell({ content }, content, everyMs)
      continue
    }
    const index = calls++
    const id = idOf('call_', 24, name, round, index)
    const start = { index, id, type: 'function', function: { name: part.name, arguments: '' } }
    tell({ tool_calls: [start] })
    for (const delta of part.deltas)
      tell({ tool_calls: [{ index, function: { arguments: delta } }] }, delta, everyMs)
  }
  tell({}, '', 0, calls > 0 ? 'tool_calls' : 'stop')
  if (options.usage) {
    const { input, output } = tokens(round, parts)
    chunk([], '', 0, {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    })
  }
  frames.push({ text: 'data: [DONE]\n\n', waitMs: 0 })
  return frames
}
