// The floor of a question: one request, its answer as it arrives, no options, no log.
const [url, question] = process.argv.slice(2)
const response = await fetch(`${url}/chat/completions`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
  body: JSON.stringify({
    model: 'gpt-4.1-mini',
    stream: true,
    messages: [{ role: 'user', content: question }],
  }),
})
let rest = ''
for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + piece).split('\n')
  rest = lines.pop()
  for (const line of lines)
    if (line.startsWith('data: {'))
      process.stdout.write(JSON.parse(line.slice(6)).choices[0]?.delta.content ?? '')
}
