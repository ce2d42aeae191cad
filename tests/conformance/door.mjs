// The official suite cannot show a token. This stands in front of a gateway and adds one;
// everything else, Host and Origin included, goes through untouched.
import http from 'node:http';

const [target, token] = process.argv.slice(2);
const { hostname, port } = new URL(target);

const door = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const forward = http.request({ hostname, port, method: request.method, path: request.url, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  forward.on('error', () => response.destroy());
  response.on('close', () => forward.destroy());
  request.pipe(forward);
});

door.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${door.address().port}/mcp`));
