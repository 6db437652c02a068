/** What the models of all works may call. Only data, so that the server needs no package. */
export interface ToolSchema {
  readonly name: string
  readonly description: string
  readonly jsonSchema: Readonly<Record<string, unknown>>
}

const text = (description: string) => ({ type: 'string', description })

function schema(name: string, description: string, properties: Record<string, object>): ToolSchema {
  return {
    name,
    description,
    jsonSchema: {
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    },
  }
}

export const lookUpOrder = schema('look_up_order', 'Finds an order by its id', {
  id: text('The id of the order'),
})
export const getWeather = schema('get_weather', 'Tells the weather of a city', {
  city: text('The name of the city'),
  days: { type: 'integer', description: 'How many days to look ahead' },
})
export const convertPrice = schema('convert_price', 'Converts a price', {
  amount: { type: 'number', description: 'How much' },
  from: text('The currency it is in'),
  to: text('The currency it is wanted in'),
})
export const writeFile = schema('write_file', 'Writes a file', {
  path: text('Where to'),
  content: text('What is to stand in it'),
})
export const slowSearch = schema('slow_search', 'Searches in many places', {
  query: text('What to look for'),
})
